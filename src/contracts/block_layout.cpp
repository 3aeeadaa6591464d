#include "contracts/block_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace dlo::contracts {

BlockLayout::BlockLayout(const BlockSpec& block) {
  entries_.reserve(block.tensors.size());
  for (std::uint32_t i = 0; i < block.tensors.size(); ++i) {
    const std::uint64_t span_bytes = block.tensors[i].span_bytes();
    entries_.push_back(LayoutEntry{i, bytes_, span_bytes});
    const auto end = checked_add(bytes_, span_bytes);
    require(end && *end <= UINT64_MAX - kTensorAlignmentBytes,
            "block '" + block.name + "' exceeds 64-bit sizes");
    bytes_ = round_up(*end, kTensorAlignmentBytes);
    tensor_bytes_ += span_bytes;
  }
}

ShardLayout::ShardLayout(std::uint64_t block_bytes, std::uint32_t group_size,
                         std::uint64_t chunk_bytes)
    : group_size_(group_size) {
  require(group_size >= 1, "ShardLayout needs a group of at least one rank");
  require(chunk_bytes % kTensorAlignmentBytes == 0, "chunk_bytes must be a multiple of 256");
  const std::uint64_t unit_bytes = group_size * kTensorAlignmentBytes;
  require(block_bytes <= UINT64_MAX - unit_bytes, "ShardLayout: block exceeds 64-bit sizes");
  padded_bytes_ = round_up(block_bytes, unit_bytes);
  const std::uint64_t shard_total_bytes = padded_bytes_ / group_size;
  // Equal pieces: behind a short last one the link would wait for the gather before it.
  const std::uint64_t count =
      chunk_bytes == 0 || shard_total_bytes == 0 ? 1 : (shard_total_bytes - 1) / chunk_bytes + 1;
  const std::uint64_t step_bytes = round_up(
      shard_total_bytes / count + (shard_total_bytes % count == 0 ? 0 : 1), kTensorAlignmentBytes);
  for (std::uint64_t done = 0; done < shard_total_bytes;) {
    const std::uint64_t piece_bytes = std::min(step_bytes, shard_total_bytes - done);
    chunks_.push_back(Chunk{done * group_size, piece_bytes, done});
    done += piece_bytes;
  }
}

std::uint64_t ShardLayout::largest_piece_bytes() const {
  std::uint64_t largest = 0;
  for (const auto& chunk : chunks_) {
    largest = std::max(largest, chunk.piece_bytes);
  }
  return largest;
}

std::uint64_t ShardLayout::piece_block_offset_bytes(std::uint32_t group_rank,
                                                    std::size_t chunk_index) const {
  require(group_rank < group_size_ && chunk_index < chunks_.size(),
          "ShardLayout: rank or chunk out of range");
  const auto& chunk = chunks_[chunk_index];
  return chunk.block_offset_bytes + group_rank * chunk.piece_bytes;
}

std::string ShardLayout::digest_text() const {
  std::string text = fmt::format("W={} padded={}", group_size_, padded_bytes_);
  for (const auto& chunk : chunks_) {
    text += fmt::format(" {}+{}", chunk.block_offset_bytes, chunk.piece_bytes);
  }
  return text;
}

}  // namespace dlo::contracts
