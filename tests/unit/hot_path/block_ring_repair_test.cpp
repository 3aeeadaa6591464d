// Goal: a block that is not the one held is never read from a stale slot: it is loaded on the spot
// (group-first entry, skipped and repeated blocks) or refused, as the policy says.
// Method: one or two rings on a recording device, walked out of order.
#include <gtest/gtest.h>

#include "base/codes.h"
#include "base/error.h"
#include "tests/unit/hot_path/ring_expectations.h"
#include "tests/unit/hot_path/ring_fixture.h"

namespace dlo::hot_path {
namespace {

using platform::Site;
using test::FixtureOptions;
using test::in_order;
using test::OpKind;
using test::RingFixture;

TEST(BlockRingRepair, RingEnteredFirst_LoadsItsFirstBlocksOnEntry) {
  RingFixture fixture(FixtureOptions{.rings = {{512, 512, 512}}, .depth = 2});
  fixture.walk(in_order(3));  // never primed
  EXPECT_EQ(fixture.chain().counts().repairs, 1U);
  EXPECT_EQ(fixture.chain().counts().repair_loads_of, (std::vector<std::uint64_t>{1, 1, 1}));
  EXPECT_EQ(fixture.chain().counts().refill_loads, 3U);
  expect_reads_match_loads(fixture);
}

TEST(BlockRingRepair, TwoRingsShareSlots_EachEntryRepairsOnce) {
  for (const auto policy : {MissPolicy::kRepair, MissPolicy::kRefuse}) {
    for (const auto depth : {1U, 2U, 4U}) {
      RingFixture fixture(FixtureOptions{.rings = {{512, 512, 512, 512, 512}, {256, 1024, 256}},
                                         .depth = depth,
                                         .on_miss = policy});
      fixture.chain(0).prime();
      for (int request = 0; request < 2; ++request) {
        fixture.walk(in_order(5), 0);
        fixture.walk(in_order(5), 0);
        fixture.walk(in_order(3), 1);
        fixture.walk(in_order(3), 1);
      }
      expect_reads_match_loads(fixture);
      EXPECT_EQ(fixture.chain(0).counts().repairs, 1U) << "depth " << depth;
      EXPECT_EQ(fixture.chain(1).counts().repairs, 2U) << "depth " << depth;
    }
  }
}

TEST(BlockRingRepair, SkippedBlockThatIsHeld_GivesItsSlotToTheNextLoad) {
  RingFixture fixture(FixtureOptions{.rings = {{512, 512, 512, 512}}, .depth = 2});
  fixture.chain().prime();
  fixture.walk({0, 2, 3, 0, 1, 2, 3});
  expect_reads_match_loads(fixture);
  EXPECT_EQ(fixture.chain().counts().repairs, 0U);
  EXPECT_EQ(fixture.loaded_blocks(), (std::vector<std::int32_t>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2}));
}

TEST(BlockRingRepair, RepeatedBlock_IsLoadedAgain) {
  RingFixture fixture(FixtureOptions{.rings = {{512, 512, 512, 512}}});
  fixture.chain().prime();
  fixture.walk({0, 1, 1, 2, 3});
  expect_reads_match_loads(fixture);
  EXPECT_EQ(fixture.chain().counts().repairs, 1U);
}

TEST(BlockRingRepair, OrderUnlikeTheRing_ReadsWhatItAskedFor) {
  for (const auto depth : {1U, 2U, 3U}) {
    RingFixture fixture(FixtureOptions{.rings = {{512, 512, 512, 512}}, .depth = depth});
    fixture.chain().prime();
    fixture.walk({0, 2, 1, 3, 3, 2, 1, 0, 0, 1, 2, 3});
    expect_reads_match_loads(fixture);
  }
}

TEST(BlockRingRepair, RefusePolicy_SkippedOrRepeatedBlockIsStaleSlot) {
  for (const std::uint32_t next : {2U, 0U, 3U}) {
    RingFixture fixture(FixtureOptions{
        .rings = {{512, 512, 512, 512}}, .depth = 2, .on_miss = MissPolicy::kRefuse});
    fixture.chain().prime();
    fixture.walk({0});
    fixture.device.clear();
    try {
      fixture.ring().before_block(next);
      FAIL() << "block " << next << " was let through";
    } catch (const RunError& error) {
      EXPECT_EQ(error.code(), codes::kStaleSlot);
    }
    EXPECT_TRUE(fixture.device.log().empty()) << "nothing is issued before the refusal";
  }
}

}  // namespace
}  // namespace dlo::hot_path
