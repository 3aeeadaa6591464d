// Owns: CopyGraphs, the copies of a gather as one launch: a graph whose copies follow one another,
// made when a piece is first gathered to a place and launched again from then on. On an H200's host
// one launch takes 1.3 to 2.4 us for two as for eight copies, where each plain copy takes 4 to 5.
// The copies stay one behind the other: side by side they were seen to slow the link's own.
// Must not own: the memory, who may touch it when (copy_engine_communicator). A group makes as many
// graphs as it has input slots times places of pieces in its slots. Threading: launching thread.
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
  // Makes the graph of `copies`, at least one, `bytes` each, on the current device.
  [[nodiscard]] cudaError_t add(const std::vector<PieceCopy>& copies, std::uint64_t bytes,
                                cudaGraphExec_t& made);
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
