// Goal: for every block, group size and chunk size, tensors lie apart and aligned, pieces tile the
// padded block exactly in chunk-major order, and gathering all shards gives the block back.
// Method: drawn blocks, and eight ranks around every tail; a byte-wise model of packing and
// gathering that shares no arithmetic with the layout beyond its published table.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <vector>

#include "base/value_generator.h"
#include "contracts/block_layout.h"

namespace dlo::contracts {
namespace {

TensorSpec draw_tensor(std::size_t index) {
  const auto rank = *rc::gen::inRange<std::size_t>(0, 4);
  TensorSpec spec;
  spec.name = "t" + std::to_string(index);
  spec.dtype = *rc::gen::element(DType::kF4, DType::kU8, DType::kBF16, DType::kF32, DType::kF64);
  for (std::size_t d = 0; d < rank; ++d) {
    spec.shape.push_back(*rc::gen::inRange<std::int64_t>(0, 12));
  }
  if (*rc::gen::arbitrary<bool>()) {
    for (std::size_t d = 0; d < rank; ++d) {
      spec.strides.push_back(*rc::gen::inRange<std::int64_t>(0, 40));
    }
  }
  return spec;
}

BlockSpec draw_block() {
  BlockSpec block{"block", {}, nullptr};
  const auto count = *rc::gen::inRange<std::size_t>(0, 9);
  for (std::size_t i = 0; i < count; ++i) {
    block.tensors.push_back(draw_tensor(i));
  }
  return block;
}

// Bits from the first to one past the last element, by walking every element.
std::uint64_t walked_bytes(const TensorSpec& spec) {
  std::uint64_t elements = 1;
  for (const auto extent : spec.shape) {
    elements *= static_cast<std::uint64_t>(extent);
  }
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < elements; ++i) {
    std::uint64_t rest = i;
    std::uint64_t place = 0;
    for (std::size_t d = spec.shape.size(); d-- > 0;) {
      const auto extent = static_cast<std::uint64_t>(spec.shape[d]);
      place += rest % extent * static_cast<std::uint64_t>(spec.strides[d]);
      rest /= extent;
    }
    end = std::max(end, place + 1);
  }
  return (end * dtype_bits(spec.dtype) + 7) / 8;
}

RC_GTEST_PROP(BlockLayout, AnyBlock_TensorsLieAlignedApartAndInOrder, ()) {
  const auto block = draw_block();
  const BlockLayout layout(block);
  std::uint64_t end = 0;
  std::uint64_t tensor_bytes = 0;
  RC_ASSERT(layout.entries().size() == block.tensors.size());
  for (std::size_t i = 0; i < layout.entries().size(); ++i) {
    const auto& entry = layout.entries()[i];
    RC_ASSERT(entry.tensor_index == i);
    RC_ASSERT(entry.offset_bytes % 256 == 0U);
    RC_ASSERT(entry.offset_bytes >= end);
    RC_ASSERT(entry.offset_bytes - end < 256U);
    end = entry.offset_bytes + entry.span_bytes;
    tensor_bytes += entry.span_bytes;
    if (!block.tensors[i].strides.empty()) {
      RC_ASSERT(entry.span_bytes == walked_bytes(block.tensors[i]));
    }
  }
  RC_ASSERT(layout.bytes() % 256 == 0U);
  RC_ASSERT(layout.bytes() >= end);
  RC_ASSERT(layout.bytes() - end < 256U);
  RC_ASSERT(layout.tensor_bytes() == tensor_bytes);
}

struct ShardCase {
  std::uint64_t block_bytes = *rc::gen::inRange<std::uint64_t>(0, 40'000);
  std::uint32_t group_size = *rc::gen::inRange<std::uint32_t>(1, 9);
  std::uint64_t chunk_bytes = 256 * *rc::gen::inRange<std::uint64_t>(0, 20);
  ShardLayout layout{block_bytes, group_size, chunk_bytes};
};

RC_GTEST_PROP(ShardLayout, AnyCut_PiecesTileThePaddedBlockChunkMajor, ()) {
  const ShardCase drawn;
  std::uint64_t next_block_byte = 0;
  std::uint64_t next_shard_byte = 0;
  for (std::size_t c = 0; c < drawn.layout.chunks().size(); ++c) {
    const auto& chunk = drawn.layout.chunks()[c];
    RC_ASSERT(chunk.piece_bytes > 0U);
    RC_ASSERT(chunk.piece_bytes % 256 == 0U);
    RC_ASSERT(drawn.chunk_bytes == 0U || chunk.piece_bytes <= drawn.chunk_bytes);
    RC_ASSERT(chunk.piece_bytes <= drawn.layout.largest_piece_bytes());
    RC_ASSERT(chunk.shard_offset_bytes == next_shard_byte);
    RC_ASSERT(chunk.block_offset_bytes == next_block_byte);
    next_shard_byte += chunk.piece_bytes;
    for (std::uint32_t r = 0; r < drawn.group_size; ++r) {
      RC_ASSERT(drawn.layout.piece_block_offset_bytes(r, c) == next_block_byte);
      next_block_byte += chunk.piece_bytes;
    }
  }
  if (drawn.chunk_bytes > 0 && drawn.layout.shard_bytes() > 0) {
    // As few as the limit allows, and no larger than that takes.
    const auto fewest = (drawn.layout.shard_bytes() + drawn.chunk_bytes - 1) / drawn.chunk_bytes;
    RC_ASSERT(drawn.layout.chunks().size() <= fewest);
    RC_ASSERT((drawn.layout.largest_piece_bytes() - 256) * fewest < drawn.layout.shard_bytes());
  }
  RC_ASSERT(next_block_byte == drawn.layout.padded_bytes());
  RC_ASSERT(next_shard_byte == drawn.layout.shard_bytes());
  RC_ASSERT(drawn.layout.padded_bytes() >= drawn.block_bytes);
  RC_ASSERT(drawn.layout.padded_bytes() - drawn.block_bytes < drawn.group_size * 256U);
}

std::vector<std::byte> block_bytes_of(std::uint64_t count) {
  std::vector<std::byte> bytes(count);
  const ValueGenerator generator("block", 1);
  for (std::uint64_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::byte>(generator.bits(i));
  }
  return bytes;
}

// What rank `rank` keeps: its piece of every chunk, one after the other, zeros past the block.
std::vector<std::byte> packed_shard(const ShardLayout& layout, const std::vector<std::byte>& block,
                                    std::uint32_t rank) {
  std::vector<std::byte> shard;
  for (std::size_t c = 0; c < layout.chunks().size(); ++c) {
    const auto first = layout.piece_block_offset_bytes(rank, c);
    for (std::uint64_t i = 0; i < layout.chunks()[c].piece_bytes; ++i) {
      shard.push_back(first + i < block.size() ? block[first + i] : std::byte{0});
    }
  }
  return shard;
}

std::vector<std::byte> gather(const ShardLayout& layout, const std::vector<std::byte>& block) {
  std::vector<std::byte> gathered(layout.padded_bytes(), std::byte{0xAA});
  for (std::uint32_t rank = 0; rank < layout.group_size(); ++rank) {
    const auto shard = packed_shard(layout, block, rank);
    EXPECT_EQ(shard.size(), layout.shard_bytes());
    // An AllGather writes rank r's input at r * input bytes of the chunk's narrowed output.
    for (const auto& chunk : layout.chunks()) {
      std::memcpy(gathered.data() + chunk.block_offset_bytes + rank * chunk.piece_bytes,
                  shard.data() + chunk.shard_offset_bytes, chunk.piece_bytes);
    }
  }
  return gathered;
}

RC_GTEST_PROP(ShardLayout, GatheredShards_AreTheBlockAndZeroPadding, ()) {
  const ShardCase drawn;
  auto padded = block_bytes_of(drawn.block_bytes);
  const auto gathered = gather(drawn.layout, padded);
  padded.resize(gathered.size(), std::byte{0});
  RC_ASSERT(gathered == padded);
}

// Around every multiple of 8 x 256 bytes: tails that leave one rank, or seven, padding alone.
TEST(ShardLayout, EightRanksAroundEveryTail_GatherTheBlockAndZeroPadding) {
  constexpr std::uint64_t kRow = 8 * 256;
  for (std::uint64_t rows = 0; rows < 5; ++rows) {
    for (const auto tail : {1U, 255U, 256U, 257U, 1791U, 1792U, 1793U, 2047U, 2048U}) {
      for (const auto chunk_bytes : {0U, 256U, 512U, 768U}) {
        auto padded = block_bytes_of(rows * kRow + tail);
        const ShardLayout layout(padded.size(), 8, chunk_bytes);
        ASSERT_EQ(layout.shard_bytes(), (rows + 1) * 256);
        const auto gathered = gather(layout, padded);
        padded.resize((rows + 1) * kRow, std::byte{0});
        ASSERT_EQ(gathered, padded)
            << rows << " rows and " << tail << ", chunks of " << chunk_bytes;
      }
    }
  }
}

RC_GTEST_PROP(ShardLayout, DigestText_DiffersWhereTheTableDiffers, ()) {
  const ShardCase a;
  const ShardCase b;
  bool equal = a.group_size == b.group_size && a.layout.padded_bytes() == b.layout.padded_bytes() &&
               a.layout.chunks().size() == b.layout.chunks().size();
  for (std::size_t c = 0; equal && c < a.layout.chunks().size(); ++c) {
    equal = a.layout.chunks()[c].piece_bytes == b.layout.chunks()[c].piece_bytes;
  }
  RC_ASSERT((a.layout.digest_text() == b.layout.digest_text()) == equal);
}

}  // namespace
}  // namespace dlo::contracts
