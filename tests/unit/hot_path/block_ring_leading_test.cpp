// Goal: blocks at the head of a ring that somebody else keeps on the device are left alone: no
// load, no slot, no event; the walk wraps around those behind them. Method: one ring on a recording
// device.
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/unit/hot_path/ring_fixture.h"

namespace dlo::hot_path {
namespace {

using test::FixtureOptions;
using test::in_order;
using test::OpKind;
using test::RingFixture;

constexpr std::uint32_t kBlocks = 5;

class RingWithLeadingBlocks : public testing::Test {
 protected:
  RingFixture fixture_{FixtureOptions{.rings = {{256, 256, 256, 256, 256}}, .leading = {2}}};
};

TEST_F(RingWithLeadingBlocks, Walks_LoadTheOthersInTurn) {
  fixture_.chain().prime();
  fixture_.walk(in_order(kBlocks));
  fixture_.walk(in_order(kBlocks));
  EXPECT_EQ(fixture_.loaded_blocks(), (std::vector<std::int32_t>{2, 3, 4, 2, 3, 4, 2, 3}));
  EXPECT_EQ(fixture_.chain().counts().repairs, 0U);
}

TEST_F(RingWithLeadingBlocks, LeadingBlock_KeepsItsBindingAndIssuesNothing) {
  fixture_.chain().prime();
  fixture_.device.clear();
  fixture_.binding(0, 0).at = 7;
  fixture_.ring().before_block(0);
  fixture_.ring().after_block(0);
  EXPECT_TRUE(fixture_.device.log().empty());
  EXPECT_EQ(fixture_.binding(0, 0).at, 7);
}

TEST_F(RingWithLeadingBlocks, EntryThatWasNeverPrimed_RepairsAtTheFirstStreamedBlock) {
  fixture_.walk(in_order(kBlocks));
  EXPECT_EQ(fixture_.chain().counts().repairs, 1U);
  EXPECT_EQ(fixture_.loaded_blocks().front(), 2);
}

TEST_F(RingWithLeadingBlocks, NothingToStream_IsALogicError) {
  EXPECT_THROW(PrefetchChain(fixture_.pool(), fixture_.transfer(), {.prefetch_depth = 0},
                             {ChainedRing{0, 1, 1}}),
               LogicError);
}

}  // namespace
}  // namespace dlo::hot_path
