// Owns: CopyGraphs, the copies of a gather as one launch: a graph whose copies follow one another,
// made in set-up. A launch takes the host as long for eight copies as for two, and less than one
// plain copy (benchmarks/gather_copies.cpp).
// Must not own: the memory, who may touch it when, how many graphs there may be
// (copy_engine_communicator). Threading: launching thread.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/tensor_view.h"

namespace dlo::comm {

struct PieceCopy {
  std::byte* target = nullptr;
  const std::byte* source = nullptr;
};

class CopyGraphs {
 public:
  CopyGraphs() = default;
  ~CopyGraphs();
  CopyGraphs(CopyGraphs&& other) noexcept = default;
  CopyGraphs& operator=(CopyGraphs&&) = delete;
  CopyGraphs(const CopyGraphs&) = delete;
  CopyGraphs& operator=(const CopyGraphs&) = delete;

  // The graph that begins with `first` and copies `bytes` each; null where there is none yet.
  [[nodiscard]] cudaGraphExec_t find(const PieceCopy& first, std::uint64_t bytes) const;
  // Makes the graph of `copies`, at least one, `bytes` each, on the current device. Precondition:
  // there is none that begins so.
  [[nodiscard]] cudaError_t add(const std::vector<PieceCopy>& copies, std::uint64_t bytes);
  // Drops every graph that begins inside `input`. Precondition: none of them is still to run.
  void forget(DeviceSpan input) noexcept;

 private:
  struct Key {
    PieceCopy first;
    std::uint64_t bytes = 0;
    bool operator==(const Key& other) const {
      return first.target == other.first.target && first.source == other.first.source &&
             bytes == other.bytes;
    }
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };

  std::unordered_map<Key, cudaGraphExec_t, Hash> graphs_;
};

}  // namespace dlo::comm
