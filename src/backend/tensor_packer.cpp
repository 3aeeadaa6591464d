#include "backend/tensor_packer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/codes.h"

namespace dlo::backend {

namespace {

struct RunShape {
  std::size_t outer_dims = 0;      // leading dimensions that must be walked
  std::uint64_t run_elements = 1;  // elements back to back in view and span
};

// Trailing dimensions whose strides are those of a contiguous tensor form one run.
RunShape run_shape(const contracts::TensorSpec& spec) {
  RunShape run{spec.shape.size(), 1};
  while (run.outer_dims > 0) {
    const auto d = run.outer_dims - 1;
    const bool packed = spec.strides.empty() || spec.shape[d] == 1 ||
                        static_cast<std::uint64_t>(spec.strides[d]) == run.run_elements;
    if (!packed) {
      break;
    }
    run.run_elements *= static_cast<std::uint64_t>(spec.shape[d]);
    run.outer_dims = d;
  }
  return run;
}

// Element offset in the span of the run with number `index`.
std::uint64_t span_offset(const contracts::TensorSpec& spec, std::size_t outer_dims,
                          std::uint64_t index) {
  std::uint64_t offset = 0;
  for (auto d = outer_dims; d-- > 0;) {
    const auto extent = static_cast<std::uint64_t>(spec.shape[d]);
    offset += index % extent * static_cast<std::uint64_t>(spec.strides[d]);
    index /= extent;
  }
  return offset;
}

// Sends `bytes`, which start at `offset_bytes` of the contiguous tensor, to where they lie in the
// tensor's span.
void place(const contracts::TensorSpec& spec, std::uint64_t offset_bytes, ConstByteSpan bytes,
           const SpanSink& sink) {
  if (bytes.empty()) {
    return;
  }
  const auto run = run_shape(spec);
  if (run.outer_dims == 0) {
    sink(offset_bytes, bytes);
    return;
  }
  const std::uint64_t width = dtype_bits(spec.dtype) / 8;
  require(width > 0, "a strided tensor has whole bytes an element");
  const auto run_bytes = run.run_elements * width;
  for (std::uint64_t done = 0; done < bytes.size();) {
    const auto skipped = (offset_bytes + done) % run_bytes;
    const auto length = std::min(run_bytes - skipped, bytes.size() - done);
    sink(span_offset(spec, run.outer_dims, (offset_bytes + done) / run_bytes) * width + skipped,
         bytes.subspan(done, length));
    done += length;
  }
}

}  // namespace

Status check_view(const contracts::TensorSpec& spec, const TensorView& view) {
  if (view.dtype != spec.dtype) {
    return refuse(codes::kDtypeMismatch,
                  fmt::format("dtype is {} where {} is wanted", dtype_name(view.dtype),
                              dtype_name(spec.dtype)),
                  spec.name, "load the checkpoint in the model's runtime dtype");
  }
  const auto bytes = tensor_bytes(view.shape, view.dtype);
  if (view.shape != spec.shape || !bytes || *bytes != view.bytes.size()) {
    return refuse(codes::kShapeMismatch,
                  fmt::format("shape is {} ({} bytes) where {} is wanted", shape_text(view.shape),
                              view.bytes.size(), shape_text(spec.shape)),
                  spec.name, "use a checkpoint of this model's configuration");
  }
  return {};
}

bool is_contiguous(const contracts::TensorSpec& spec) {
  return run_shape(spec).outer_dims == 0;
}

void for_each_run(const contracts::TensorSpec& spec, const TensorView& view, const SpanSink& sink) {
  place(spec, 0, view.bytes, sink);
}

Status for_each_host_run(const contracts::TensorSpec& spec, const contracts::HostTensors& tensors,
                         const SpanSink& sink) {
  if (tensors.backing() == contracts::Backing::kOrdinary) {
    const auto view = tensors.view(spec.name);
    auto checked = check_view(spec, view);
    if (checked.ok()) {
      for_each_run(spec, view, sink);
    }
    return checked;
  }
  const auto wanted = tensor_bytes(spec.shape, spec.dtype);
  std::uint64_t seen_bytes = 0;
  bool fits = wanted.has_value();
  tensors.for_each_run(spec.name, [&](std::uint64_t offset_bytes, ConstByteSpan bytes) {
    fits = fits && offset_bytes == seen_bytes && bytes.size() <= *wanted - seen_bytes;
    if (fits) {
      place(spec, offset_bytes, bytes, sink);
      seen_bytes += bytes.size();
    }
  });
  if (fits && seen_bytes == *wanted) {
    return {};
  }
  return refuse(codes::kShapeMismatch,
                fmt::format("its mapped runs are not the {} bytes of shape {} in order",
                            wanted.value_or(0), shape_text(spec.shape)),
                spec.name, "this is a defect of the checkpoint's recipe; report it");
}

ShardWriter::ShardWriter(ByteSpan shard, const contracts::ShardLayout& layout,
                         std::uint32_t group_rank)
    : shard_(shard), layout_(layout), group_rank_(group_rank) {
  require(shard.size() == layout.shard_bytes() && group_rank < layout.group_size(),
          "a shard writer needs this rank's whole shard");
}

void ShardWriter::write(std::uint64_t block_offset_bytes, ConstByteSpan bytes) const {
  const auto& chunks = layout_.chunks();
  const auto end = block_offset_bytes + bytes.size();
  // Last chunk that starts at or before the first byte.
  auto chunk = std::upper_bound(chunks.begin(), chunks.end(), block_offset_bytes,
                                [](std::uint64_t offset, const contracts::Chunk& c) {
                                  return offset < c.block_offset_bytes;
                                });
  chunk = chunk == chunks.begin() ? chunk : std::prev(chunk);
  for (; chunk != chunks.end() && chunk->block_offset_bytes < end; ++chunk) {
    const auto index = static_cast<std::size_t>(chunk - chunks.begin());
    const auto piece_begin = layout_.piece_block_offset_bytes(group_rank_, index);
    const auto from = std::max(piece_begin, block_offset_bytes);
    const auto to = std::min(piece_begin + chunk->piece_bytes, end);
    if (from < to) {
      std::memcpy(shard_.data() + chunk->shard_offset_bytes + (from - piece_begin),
                  bytes.data() + (from - block_offset_bytes), to - from);
    }
  }
}

}  // namespace dlo::backend
