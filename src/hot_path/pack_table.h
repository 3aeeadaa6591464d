// Owns: PackTable, where the bytes of one block lie in its mapped sources: a sorted list of runs
// that cover the block from its first byte to its last, gaps between tensors included.
// Must not own: the sources (host_weights) or the destination. Built once while enabling.
// Threading: immutable; any thread may fill. Failure: none; a source that has shrunk reads as zeros
// and is noticed by whoever asks HostTensors::intact() afterwards. Allocates nothing after
// construction.
#pragma once

#include <cstdint>
#include <vector>

#include "base/tensor_view.h"

namespace dlo::hot_path {

struct PackRun {
  std::uint64_t block_offset_bytes = 0;
  const std::byte* source = nullptr;  // null: zeros
  std::uint64_t bytes = 0;
};

class PackTable {
 public:
  // Sorts `runs`, fills the gaps up to `block_bytes` with zeros and joins neighbours that lie back
  // to back in their source too. LogicError when runs overlap or exceed the block.
  PackTable(std::vector<PackRun> runs, std::uint64_t block_bytes);

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] const std::vector<PackRun>& runs() const { return runs_; }

  // Writes the block's bytes from `offset_bytes` on over all of `destination`.
  // Precondition: the block has as many.
  void fill(std::uint64_t offset_bytes, ByteSpan destination) const;

 private:
  void append(const PackRun& run);

  std::vector<PackRun> runs_;
  std::uint64_t bytes_ = 0;
};

}  // namespace dlo::hot_path
