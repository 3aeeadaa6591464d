// Owns: BlockLayout, where each tensor of a block lies in its flat byte buffer, and ShardLayout,
// how that buffer is cut into chunks and pieces over the W ranks of a weight group.
// Must not own: buffers or transfers. Pure values with their invariants checked at construction.
//   block    | chunk 0                | chunk 1                | ... tail, padded to W x 256 |
//   chunk c  | piece of rank 0 | piece of rank 1 | ... | piece of rank W-1 |
//   shard r  | piece r of chunk 0 | piece r of chunk 1 | ...      (chunk-major, host, rank r)
// One chunk is the reference's whole-block layout.
// Deviates from vLLM-Omni: one flat byte buffer a block instead of one a dtype, every tensor start
// 256-byte aligned, in the resident baseline too, because kernels choose code by alignment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "contracts/parameter_table.h"

namespace dlo::contracts {

struct LayoutEntry {
  std::uint32_t tensor_index = 0;  // into BlockSpec::tensors
  std::uint64_t offset_bytes = 0;  // multiple of kTensorAlignmentBytes
  std::uint64_t span_bytes = 0;    // physical span, strides kept
};

class BlockLayout {
 public:
  // Lays out the tensors of `block` in order. Empty tensors take no bytes.
  explicit BlockLayout(const BlockSpec& block);

  [[nodiscard]] const std::vector<LayoutEntry>& entries() const { return entries_; }
  // Sum of aligned spans: a multiple of kTensorAlignmentBytes, 0 for a block without bytes.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // Bytes of tensors alone, without padding.
  [[nodiscard]] std::uint64_t tensor_bytes() const { return tensor_bytes_; }

 private:
  std::vector<LayoutEntry> entries_;
  std::uint64_t bytes_ = 0;
  std::uint64_t tensor_bytes_ = 0;
};

struct Chunk {
  std::uint64_t block_offset_bytes = 0;  // where the gathered chunk starts in the block
  std::uint64_t piece_bytes = 0;         // bytes of one rank's piece; multiple of 256
  std::uint64_t shard_offset_bytes = 0;  // where a rank's piece starts in that rank's shard
};

class ShardLayout {
 public:
  // Cuts a block of `block_bytes` over `group_size` ranks into the fewest chunks of at most
  // `chunk_bytes` per rank, equal but for the rounding to 256; chunk_bytes 0 means one chunk.
  // Preconditions: group_size >= 1 and chunk_bytes a multiple of 256. A block of 0 bytes has no
  // chunks.
  ShardLayout(std::uint64_t block_bytes, std::uint32_t group_size, std::uint64_t chunk_bytes);

  [[nodiscard]] std::uint32_t group_size() const { return group_size_; }
  [[nodiscard]] const std::vector<Chunk>& chunks() const { return chunks_; }
  // Bytes of the block after padding its tail to group_size x 256.
  [[nodiscard]] std::uint64_t padded_bytes() const { return padded_bytes_; }
  // Bytes that each rank holds: padded_bytes / group_size.
  [[nodiscard]] std::uint64_t shard_bytes() const { return padded_bytes_ / group_size_; }
  // Largest piece of any chunk: what one input slot must hold.
  [[nodiscard]] std::uint64_t largest_piece_bytes() const;
  // Where the piece of `group_rank` for chunk `chunk_index` starts in the block.
  [[nodiscard]] std::uint64_t piece_block_offset_bytes(std::uint32_t group_rank,
                                                       std::size_t chunk_index) const;
  // Canonical text of the chunk table; part of the schedule digest that ranks agree on.
  [[nodiscard]] std::string digest_text() const;

 private:
  std::uint32_t group_size_;
  std::uint64_t padded_bytes_;
  std::vector<Chunk> chunks_;
};

}  // namespace dlo::contracts
