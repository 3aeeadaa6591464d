#include "comm/copy_engine/copy_graphs.h"

#include <functional>

#include "base/error.h"

namespace dlo::comm {

namespace {

cudaError_t chain(cudaGraph_t graph, const std::vector<PieceCopy>& copies, std::uint64_t bytes) {
  cudaGraphNode_t last = nullptr;
  for (const auto& copy : copies) {
    cudaGraphNode_t node = nullptr;
    const auto status = cudaGraphAddMemcpyNode1D(&node, graph, last == nullptr ? nullptr : &last,
                                                 last == nullptr ? 0 : 1, copy.target, copy.source,
                                                 bytes, cudaMemcpyDeviceToDevice);
    if (status != cudaSuccess) {
      return status;
    }
    last = node;
  }
  return cudaSuccess;
}

void destroy(cudaGraphExec_t graph) {
  if (cudaGraphExecDestroy(graph) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
  }
}

}  // namespace

std::size_t CopyGraphs::Hash::operator()(const Key& key) const {
  // Places and sizes are multiples of large powers of two: multiplied, their high bits count.
  constexpr std::size_t kOdd = 0x9E3779B97F4A7C15U;
  std::size_t sum = std::hash<const std::byte*>()(key.first.target);
  sum = sum * kOdd + std::hash<const std::byte*>()(key.first.source);
  sum = sum * kOdd + std::hash<std::uint64_t>()(key.bytes);
  return sum ^ (sum >> 32U);
}

CopyGraphs::~CopyGraphs() {
  for (const auto& [key, graph] : graphs_) {
    destroy(graph);
  }
}

cudaGraphExec_t CopyGraphs::find(const PieceCopy& first, std::uint64_t bytes) const {
  const auto found = graphs_.find(Key{first, bytes});
  return found == graphs_.end() ? nullptr : found->second;
}

cudaError_t CopyGraphs::add(const std::vector<PieceCopy>& copies, std::uint64_t bytes) {
  require(!copies.empty() && find(copies.front(), bytes) == nullptr,
          "a graph of copies is made once, of one copy or more");
  cudaGraph_t graph = nullptr;
  auto status = cudaGraphCreate(&graph, 0);
  if (status != cudaSuccess) {
    return status;
  }
  cudaGraphExec_t made = nullptr;
  status = chain(graph, copies, bytes);
  if (status == cudaSuccess) {
    status = cudaGraphInstantiate(&made, graph, 0);
  }
  static_cast<void>(cudaGraphDestroy(graph));
  if (status == cudaSuccess) {
    graphs_.emplace(Key{copies.front(), bytes}, made);
  }
  return status;
}

void CopyGraphs::forget(DeviceSpan input) noexcept {
  for (auto entry = graphs_.begin(); entry != graphs_.end();) {
    const auto* source = entry->first.first.source;
    if (source < input.data || source >= input.data + input.bytes) {
      ++entry;
      continue;
    }
    destroy(entry->second);
    entry = graphs_.erase(entry);
  }
}

}  // namespace dlo::comm
