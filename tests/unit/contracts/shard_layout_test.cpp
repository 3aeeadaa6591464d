// Goal: any group size shards any block: padded to whole pieces, chunk-major, nothing lost (bug
// cases SH-1 and SH-2), the reference's worked examples (5.4) included.
// Method: one unit here is 256 bytes, so "elements" of the examples are units; the cases of SH-2
// are held against a slow reference that counts up.
#include "contracts/block_layout.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace dlo::contracts {
namespace {

constexpr std::uint64_t kUnit = kTensorAlignmentBytes;

TEST(ShardLayout, EightUnitsOverFour_TwoEach) {
  const ShardLayout layout(8 * kUnit, 4, 0);
  ASSERT_EQ(layout.chunks().size(), 1U);
  EXPECT_EQ(layout.shard_bytes(), 2 * kUnit);
  EXPECT_EQ(layout.padded_bytes(), 8 * kUnit);
  EXPECT_EQ(layout.piece_block_offset_bytes(3, 0), 6 * kUnit);
}

TEST(ShardLayout, ThreeUnitsOverTwo_LastShardIsZeroPadded) {
  const ShardLayout layout(3 * kUnit, 2, 0);
  EXPECT_EQ(layout.shard_bytes(), 2 * kUnit);
  EXPECT_EQ(layout.padded_bytes(), 4 * kUnit);
  EXPECT_EQ(layout.piece_block_offset_bytes(1, 0), 2 * kUnit);
}

TEST(ShardLayout, ThreeRanks_AnySizeShards) {
  for (const std::uint64_t bytes : {1ULL, 2ULL, 3ULL, 10ULL, 65'537ULL}) {
    const ShardLayout layout(bytes * 4, 3, 0);
    EXPECT_GE(layout.padded_bytes(), bytes * 4);
    EXPECT_LT(layout.padded_bytes() - bytes * 4, 3 * kUnit);
    EXPECT_EQ(layout.shard_bytes() * 3, layout.padded_bytes());
    EXPECT_EQ(layout.shard_bytes() % kUnit, 0U);
  }
}

std::uint64_t slow_padded(std::uint64_t units, std::uint64_t group) {
  std::uint64_t padded = 0;
  while (padded < units) {
    padded += group;
  }
  return padded;
}

TEST(ShardLayout, EverySmallCase_PadsUpToWholePieces) {
  for (std::uint64_t units = 0; units <= 20; ++units) {
    for (std::uint32_t group = 1; group <= 8; ++group) {
      const ShardLayout layout(units * kUnit, group, 0);
      EXPECT_EQ(layout.padded_bytes(), slow_padded(units, group) * kUnit)
          << units << " over " << group;
      EXPECT_EQ(layout.chunks().size(), units == 0 ? 0U : 1U);
    }
  }
}

TEST(ShardLayout, EmptyBlock_HasNoChunksAndNoCollective) {
  const ShardLayout layout(0, 4, 2 * kUnit);
  EXPECT_TRUE(layout.chunks().empty());
  EXPECT_EQ(layout.padded_bytes(), 0U);
  EXPECT_EQ(layout.shard_bytes(), 0U);
  EXPECT_EQ(layout.largest_piece_bytes(), 0U);
}

TEST(ShardLayout, OneUnitOverFour_LaterShardsArePaddingOnly) {
  const ShardLayout layout(kUnit, 4, 0);
  EXPECT_EQ(layout.shard_bytes(), kUnit);
  for (std::uint32_t rank = 1; rank < 4; ++rank) {
    EXPECT_GE(layout.piece_block_offset_bytes(rank, 0), kUnit);
  }
}

TEST(ShardLayout, Chunked_IsChunkMajorWithAShortTail) {
  const ShardLayout layout(10 * kUnit, 2, 2 * kUnit);
  ASSERT_EQ(layout.chunks().size(), 3U);
  EXPECT_EQ(layout.chunks()[0].block_offset_bytes, 0U);
  EXPECT_EQ(layout.chunks()[1].block_offset_bytes, 4 * kUnit);
  EXPECT_EQ(layout.chunks()[2].block_offset_bytes, 8 * kUnit);
  EXPECT_EQ(layout.chunks()[2].piece_bytes, kUnit);
  EXPECT_EQ(layout.chunks()[2].shard_offset_bytes, 4 * kUnit);
  EXPECT_EQ(layout.piece_block_offset_bytes(1, 1), 6 * kUnit);
  EXPECT_EQ(layout.largest_piece_bytes(), 2 * kUnit);
}

// A short last chunk would let the link wait for the gather of the one before it.
TEST(ShardLayout, ChunksThatDoNotDivideTheShard_AreEvenedOut) {
  const ShardLayout layout(22 * kUnit, 2, 5 * kUnit);
  ASSERT_EQ(layout.chunks().size(), 3U);
  EXPECT_EQ(layout.chunks()[0].piece_bytes, 4 * kUnit);
  EXPECT_EQ(layout.chunks()[1].piece_bytes, 4 * kUnit);
  EXPECT_EQ(layout.chunks()[2].piece_bytes, 3 * kUnit);
}

TEST(ShardLayout, ChunkAsLargeAsTheShard_IsTheWholeBlockLayout) {
  const ShardLayout whole(10 * kUnit, 2, 0);
  EXPECT_EQ(ShardLayout(10 * kUnit, 2, 5 * kUnit).digest_text(), whole.digest_text());
  EXPECT_EQ(ShardLayout(10 * kUnit, 2, 64 * kMiB).digest_text(), whole.digest_text());
  EXPECT_NE(ShardLayout(10 * kUnit, 2, 4 * kUnit).digest_text(), whole.digest_text());
}

TEST(ShardLayout, DigestText_TellsGroupsAndSizesApart) {
  EXPECT_NE(ShardLayout(4 * kUnit, 2, 0).digest_text(), ShardLayout(4 * kUnit, 4, 0).digest_text());
  EXPECT_NE(ShardLayout(4 * kUnit, 2, 0).digest_text(), ShardLayout(6 * kUnit, 2, 0).digest_text());
}

TEST(ShardLayout, BrokenPrecondition_Throws) {
  EXPECT_THROW(ShardLayout(kUnit, 0, 0), LogicError);
  EXPECT_THROW(ShardLayout(kUnit, 2, 100), LogicError);
  EXPECT_THROW(ShardLayout(UINT64_MAX, 2, 0), LogicError);
  const ShardLayout layout(4 * kUnit, 2, 0);
  EXPECT_THROW(static_cast<void>(layout.piece_block_offset_bytes(2, 0)), LogicError);
  EXPECT_THROW(static_cast<void>(layout.piece_block_offset_bytes(0, 1)), LogicError);
}

}  // namespace
}  // namespace dlo::contracts
