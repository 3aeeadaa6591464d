// Owns: the way of one host tensor into the flat bytes of its block: the check against its spec,
// the split into runs (strides kept), and the part of each run that this rank's shard holds.
// Must not own: memory on either side. Pure functions; nothing is allocated but errors.
#pragma once

#include <functional>

#include "base/result.h"
#include "base/tensor_view.h"
#include "contracts/block_layout.h"
#include "contracts/host_tensors.h"
#include "contracts/parameter_table.h"

namespace dlo::backend {

// Codes: dtype_mismatch, shape_mismatch (shape or byte count).
[[nodiscard]] Status check_view(const contracts::TensorSpec& spec, const TensorView& view);

// True when the elements of `spec` lie back to back: its span is the tensor's bytes in order.
[[nodiscard]] bool is_contiguous(const contracts::TensorSpec& spec);

// Takes (offset in the tensor's span, bytes).
using SpanSink = std::function<void(std::uint64_t, ConstByteSpan)>;

// Calls `sink` for every run of elements that is contiguous in both the view and the span; bytes
// between strided elements are left alone. Precondition: check_view(spec, view) is ok.
void for_each_run(const contracts::TensorSpec& spec, const TensorView& view, const SpanSink& sink);

// The same for the tensor of that name as the loader holds it, run by run, without a contiguous
// copy of it. Codes: dtype_mismatch, shape_mismatch; of a mapped tensor, whose dtype and shape were
// proven when it was mapped, shape_mismatch alone when its runs do not add up.
[[nodiscard]] Status for_each_host_run(const contracts::TensorSpec& spec,
                                       const contracts::HostTensors& tensors, const SpanSink& sink);

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
