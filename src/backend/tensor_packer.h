// Owns: the way of one host tensor into the flat bytes of its block: the check against its spec,
// the split into runs (strides kept), and the part of each run that this rank's shard holds.
// Must not own: memory on either side. Pure functions over views; nothing is allocated but errors.
#pragma once

#include <functional>

#include "base/result.h"
#include "base/tensor_view.h"
#include "contracts/block_layout.h"
#include "contracts/parameter_table.h"

namespace dlo::backend {

// Codes: dtype_mismatch, shape_mismatch (shape or byte count).
[[nodiscard]] Status check_view(const contracts::TensorSpec& spec, const TensorView& view);

// True when the elements of `spec` lie back to back: its span is the tensor's bytes in order.
[[nodiscard]] bool is_contiguous(const contracts::TensorSpec& spec);

// Calls `sink(offset in the tensor's span, bytes)` for every run of elements that is contiguous in
// both the view and the span; bytes between strided elements are left alone.
// Precondition: check_view(spec, view) is ok.
void for_each_run(const contracts::TensorSpec& spec, const TensorView& view,
                  const std::function<void(std::uint64_t, ConstByteSpan)>& sink);

// Writes block bytes to where one rank keeps them.
class ShardWriter {
 public:
  // `shard` holds layout.shard_bytes() bytes; `layout` outlives the writer.
  ShardWriter(ByteSpan shard, const contracts::ShardLayout& layout, std::uint32_t group_rank);

  // Copies what [block_offset_bytes, + bytes.size()) has in common with this rank's pieces.
  void write(std::uint64_t block_offset_bytes, ConstByteSpan bytes) const;

 private:
  ByteSpan shard_;
  const contracts::ShardLayout& layout_;
  std::uint32_t group_rank_;
};

}  // namespace dlo::backend
