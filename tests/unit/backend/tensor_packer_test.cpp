// Goal: the shards of all ranks, put together as AllGather does, are the block's bytes; pads are
// zero; no tensor byte is lost whatever its size, stride, place or chunking (SH-1, SH-2).
// Method: blocks are packed for every rank and gathered by an independent loop.
#include "backend/tensor_packer.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/codes.h"
#include "synthetic/synthetic_model.h"
#include "synthetic/synthetic_weights.h"

namespace dlo::backend {
namespace {

using contracts::ShardLayout;
using contracts::TensorSpec;

std::vector<std::byte> sequence(std::uint64_t count) {
  std::vector<std::byte> bytes(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::byte>(i * 7 + 1);
  }
  return bytes;
}

// The block as it lies in a slot once all pieces of all chunks have been gathered.
std::vector<std::byte> gathered(const ShardLayout& layout,
                                const std::vector<std::vector<std::byte>>& shards) {
  std::vector<std::byte> block;
  for (const auto& chunk : layout.chunks()) {
    for (const auto& shard : shards) {
      const auto* piece = shard.data() + chunk.shard_offset_bytes;
      block.insert(block.end(), piece, piece + chunk.piece_bytes);
    }
  }
  return block;
}

TEST(ShardWriter, AnySizeGroupAndChunk_GathersToTheBlock) {
  for (const std::uint64_t size : {1U, 2U, 255U, 256U, 257U, 4096U, 65537U}) {
    for (const auto group_size : {1U, 2U, 3U, 4U, 8U}) {
      for (const std::uint64_t chunk_bytes : {0U, 256U, 1024U}) {
        const ShardLayout layout(size, group_size, chunk_bytes);
        const auto block = sequence(size);
        std::vector<std::vector<std::byte>> shards;
        for (std::uint32_t r = 0; r < group_size; ++r) {
          auto& shard = shards.emplace_back(layout.shard_bytes());
          const ShardWriter writer(shard, layout, r);
          // Two writes that meet in the middle, as two tensors do.
          writer.write(0, ConstByteSpan(block).first(size / 2));
          writer.write(size / 2, ConstByteSpan(block).subspan(size / 2));
        }
        auto whole = gathered(layout, shards);
        ASSERT_EQ(whole.size(), layout.padded_bytes());
        EXPECT_EQ(std::memcmp(whole.data(), block.data(), size), 0)
            << size << " bytes, W " << group_size << ", chunk " << chunk_bytes;
        for (auto at = size; at < whole.size(); ++at) {
          ASSERT_EQ(whole[at], std::byte{0}) << "pad byte " << at;
        }
      }
    }
  }
}

TEST(ShardWriter, ShardPastTheEnd_ReadsNothingFromTheSource) {
  const ShardLayout layout(256, 4, 0);
  std::vector<std::byte> shard(layout.shard_bytes());
  const auto block = sequence(256);
  ShardWriter(shard, layout, 3).write(0, block);
  EXPECT_EQ(shard, std::vector<std::byte>(256));
}

TEST(ShardWriter, EmptyBlock_HasNoChunksAndTakesNothing) {
  const ShardLayout layout(0, 2, 0);
  ShardWriter({}, layout, 0).write(0, {});
  EXPECT_TRUE(layout.chunks().empty());
}

TEST(ForEachRun, ContiguousTensor_IsOneRun) {
  const TensorSpec spec{"t", {}, DType::kF32, {2, 3}, {3, 1}};
  const auto bytes = sequence(24);
  int runs = 0;
  for_each_run(spec, TensorView{DType::kF32, {2, 3}, bytes}, [&](auto offset, auto run) {
    ++runs;
    EXPECT_EQ(offset, 0U);
    EXPECT_EQ(run.size(), 24U);
  });
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(is_contiguous(spec));
}

TEST(ForEachRun, TransposedTensor_PutsEachElementAtItsStride) {
  const TensorSpec spec{"t", {}, DType::kU8, {2, 3}, {1, 2}};
  const auto bytes = sequence(6);
  std::vector<std::byte> span(spec.span_bytes());
  for_each_run(spec, TensorView{DType::kU8, {2, 3}, bytes},
               [&](auto offset, auto run) { std::memcpy(&span[offset], run.data(), run.size()); });
  for (std::uint64_t row = 0; row < 2; ++row) {
    for (std::uint64_t column = 0; column < 3; ++column) {
      EXPECT_EQ(span[row + 2 * column], bytes[row * 3 + column]);
    }
  }
  EXPECT_FALSE(is_contiguous(spec));
}

TEST(ForEachRun, RowsWithGaps_AreOneRunEach) {
  const TensorSpec spec{"t", {}, DType::kF32, {2, 3}, {5, 1}};
  const auto bytes = sequence(24);
  std::vector<std::uint64_t> offsets;
  for_each_run(spec, TensorView{DType::kF32, {2, 3}, bytes},
               [&](auto offset, auto) { offsets.push_back(offset); });
  EXPECT_EQ(offsets, (std::vector<std::uint64_t>{0, 20}));
}

TEST(CheckView, OtherDtypeOrShape_IsRefusedWithItsCode) {
  const TensorSpec spec{"t", {}, DType::kF32, {2, 3}, {}};
  const auto bytes = sequence(24);
  EXPECT_TRUE(check_view(spec, TensorView{DType::kF32, {2, 3}, bytes}).ok());
  EXPECT_EQ(check_view(spec, TensorView{DType::kI32, {2, 3}, bytes}).refusal().code,
            codes::kDtypeMismatch);
  EXPECT_EQ(check_view(spec, TensorView{DType::kF32, {3, 2}, bytes}).refusal().code,
            codes::kShapeMismatch);
  EXPECT_EQ(check_view(spec, TensorView{DType::kF32, {2, 3}, ConstByteSpan(bytes).first(20)})
                .refusal()
                .code,
            codes::kShapeMismatch);
}

}  // namespace
}  // namespace dlo::backend
