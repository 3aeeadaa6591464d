// The host's time to issue the copies of one gather by copy engines: one launch of a prepared chain
// against plain copies, by ranks. Limit: the launch of one copy.

#include "benchmarks/bench_device.h"

#ifdef DLO_WITH_CUDA
#include <cuda_runtime_api.h>

#include "comm/copy_engine/copy_graphs.h"
#endif

namespace dlo::benchmarks {
namespace {

using platform::StreamKind;

constexpr std::uint64_t kPieceBytes = 2 * kMiB;
constexpr int kGathers = 6;  // between two rests: the chunks of a block

#ifdef DLO_WITH_CUDA
std::vector<comm::PieceCopy> copies_of(DeviceSpan input, DeviceSpan output, std::uint64_t count) {
  std::vector<comm::PieceCopy> copies;
  for (std::uint64_t i = 0; i < count; ++i) {
    copies.push_back({output.data + i * kPieceBytes, input.data});
  }
  return copies;
}

void issue_plainly(const std::vector<comm::PieceCopy>& copies, cudaStream_t stream) {
  for (const auto& copy : copies) {
    require(cudaMemcpyAsync(copy.target, copy.source, kPieceBytes, cudaMemcpyDeviceToDevice,
                            stream) == cudaSuccess,
            "a copy is not issued");
  }
}
#endif

void gather_copies(benchmark::State& state) {
  BenchDevice bench;
  platform::Device& device = bench.get();
  const auto native = device.native_stream(StreamKind::kComm);
  if (!native.present()) {
    state.SkipWithError("only a GPU has copy engines");
    return;
  }
#ifdef DLO_WITH_CUDA
  const bool prepared = state.range(0) != 0;
  const auto ranks = static_cast<std::uint64_t>(state.range(1));
  const auto input = bench.device_buffer(kPieceBytes);
  const auto output = bench.device_buffer(ranks * kPieceBytes);
  const auto copies = copies_of(input->span(), output->span(), ranks);
  auto* const stream = static_cast<cudaStream_t>(native.handle);
  comm::CopyGraphs graphs;
  require(graphs.add(copies, kPieceBytes) == cudaSuccess, "no graph of copies");
  auto* const graph = graphs.find(copies.front(), kPieceBytes);
  for ([[maybe_unused]] auto iteration : state) {
    state.SetIterationTime(bench.host_seconds([&] {
      for (int gather = 0; gather < kGathers; ++gather) {
        if (prepared) {
          require(cudaGraphLaunch(graph, stream) == cudaSuccess, "a graph is not launched");
        } else {
          issue_plainly(copies, stream);
        }
      }
    }));
    bench.finish();
  }
  state.counters["s_per_gather"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kGathers,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
#endif
  state.SetLabel(std::string(device.kind()));
}

BENCHMARK(gather_copies)
    ->ArgsProduct({{0, 1}, {2, 8}})
    ->ArgNames({"prepared", "ranks"})
    ->UseManualTime();

}  // namespace
}  // namespace dlo::benchmarks
