// Goal: rings that a forward walks one after the other never displace each other: the end of one
// walk loads the head of the next ring, every forward is one load a block, nothing is repaired; and
// a forward that leaves the order still reads what it asks for, or is refused.
// Method: one sequence is written out for readers; every other chain of rings is held against the
// log of ONE ring of all its blocks, which block_ring_test.cpp holds against closed forms.
#include "hot_path/prefetch_chain.h"

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
using test::OpRecord;
using test::RingFixture;
using Loads = std::vector<RingFixture::RingBlock>;

// One forward: every ring of the chain in order.
void walk_all(RingFixture& fixture, const FixtureOptions& options) {
  for (std::size_t r = 0; r < options.rings.size(); ++r) {
    fixture.walk(in_order(static_cast<std::uint32_t>(options.rings[r].size())), r);
  }
}

TEST(PrefetchChain, RefinerOfTwoBeforeAMainRingOfThree_IssuesThisSequence) {
  RingFixture fixture(FixtureOptions{.rings = {{256, 256}, {512, 512, 512}}, .chained = true});
  fixture.chain().prime();
  fixture.walk({0, 1}, 0);
  fixture.walk({0, 1}, 1);
  const std::vector<std::string> expected = {
      "copy: wait free_wait ring 0 block 0 slot 0",
      "copy: copy h2d ring 0 block 0 slot 0 256 B",
      "copy: record ready_record ring 0 block 0 slot 0",
      "copy: wait free_wait ring 0 block 1 slot 1",
      "copy: copy h2d ring 0 block 1 slot 1 256 B",
      "copy: record ready_record ring 0 block 1 slot 1",
      "compute: wait ready_wait ring 0 block 0 slot 0",
      "compute: launch compute ring 0 block 0",
      "compute: record free_record ring 0 block 0 slot 0",
      "copy: wait free_wait ring 1 block 0 slot 0",
      "copy: copy h2d ring 1 block 0 slot 0 512 B",
      "copy: record ready_record ring 1 block 0 slot 0",
      "compute: wait ready_wait ring 0 block 1 slot 1",
      "compute: launch compute ring 0 block 1",
      "compute: record free_record ring 0 block 1 slot 1",
      "copy: wait free_wait ring 1 block 1 slot 1",
      "copy: copy h2d ring 1 block 1 slot 1 512 B",
      "copy: record ready_record ring 1 block 1 slot 1",
      "compute: wait ready_wait ring 1 block 0 slot 0",
      "compute: launch compute ring 1 block 0",
      "compute: record free_record ring 1 block 0 slot 0",
      "copy: wait free_wait ring 1 block 2 slot 0",
      "copy: copy h2d ring 1 block 2 slot 0 512 B",
      "copy: record ready_record ring 1 block 2 slot 0",
      "compute: wait ready_wait ring 1 block 1 slot 1",
      "compute: launch compute ring 1 block 1",
      "compute: record free_record ring 1 block 1 slot 1",
      "copy: wait free_wait ring 0 block 0 slot 1",
      "copy: copy h2d ring 0 block 0 slot 1 256 B",
      "copy: record ready_record ring 0 block 0 slot 1",
  };
  EXPECT_EQ(fixture.device.texts(), expected);
}

TEST(PrefetchChain, EndOfEachWalk_LoadsTheHeadOfTheRingThatIsWalkedNext) {
  const FixtureOptions options{.rings = {{256, 256}, {512, 512, 512}}, .chained = true, .depth = 2};
  RingFixture fixture(options);
  fixture.chain().prime();
  EXPECT_EQ(fixture.loads(), (Loads{{0, 0}, {0, 1}, {1, 0}})) << "the refiner alone fills no 3";
  fixture.device.clear();
  fixture.walk({0, 1}, 0);
  EXPECT_EQ(fixture.loads(), (Loads{{1, 1}, {1, 2}}));
  fixture.device.clear();
  fixture.walk({0, 1, 2}, 1);
  EXPECT_EQ(fixture.loads(), (Loads{{0, 0}, {0, 1}, {1, 0}}));
}

// The blocks of the chain's rings as one ring.
FixtureOptions joined(const FixtureOptions& options) {
  auto one = options;
  one.rings = {{}};
  one.leading.clear();
  for (std::size_t r = 0; r < options.rings.size(); ++r) {
    const auto leading = r < options.leading.size() ? options.leading[r] : 0;
    one.rings.front().insert(one.rings.front().end(), options.rings[r].begin() + leading,
                             options.rings[r].end());
  }
  return one;
}

// The log with every ring and block replaced by ring 0 and the block's place in the chain; launches
// of leading blocks, which no ring of `joined` has, are left out.
std::vector<std::string> renumbered(const RingFixture& fixture, const FixtureOptions& options) {
  std::vector<std::int32_t> base;
  std::int32_t next = 0;
  for (std::size_t r = 0; r < options.rings.size(); ++r) {
    const auto leading = r < options.leading.size() ? options.leading[r] : 0;
    base.push_back(next - static_cast<std::int32_t>(leading));
    next = base.back() + static_cast<std::int32_t>(options.rings[r].size());
  }
  std::vector<std::string> lines;
  for (auto op : fixture.device.log()) {
    const auto r = static_cast<std::size_t>(op.label.ring);
    if (r < options.leading.size() && op.label.block < static_cast<int>(options.leading[r])) {
      continue;
    }
    op.label.block += base.at(r);
    op.label.ring = 0;
    lines.push_back(test::op_text(op));
  }
  return lines;
}

void expect_like_one_ring(const FixtureOptions& options) {
  constexpr int kForwards = 3;
  RingFixture chained(options);
  const auto one = joined(options);
  RingFixture single(one);
  chained.chain().prime();
  single.chain().prime();
  for (int forward = 0; forward < kForwards; ++forward) {
    walk_all(chained, options);
    walk_all(single, one);
  }
  ASSERT_EQ(renumbered(chained, options), single.device.texts());
  const auto& counts = chained.chain().counts();
  EXPECT_EQ(counts.repairs, 0U);
  EXPECT_EQ(counts.refill_loads, kForwards * one.rings.front().size());
}

std::vector<std::uint64_t> uneven(std::uint32_t blocks) {
  std::vector<std::uint64_t> bytes;
  for (std::uint32_t b = 0; b < blocks; ++b) {
    bytes.push_back((b % 5 + 1) * kKiB);
  }
  return bytes;
}

std::vector<std::vector<std::vector<std::uint64_t>>> ring_sets() {
  std::vector<std::vector<std::vector<std::uint64_t>>> sets;
  for (const std::uint32_t a : {2U, 3U, 5U}) {
    for (const std::uint32_t b : {2U, 4U, 7U}) {
      sets.push_back({uneven(a), uneven(b)});
      sets.push_back({uneven(a), uneven(2), uneven(b)});
    }
  }
  return sets;
}

TEST(PrefetchChain, EveryNumberAndSizeOfRingsAndDepth_RankLocal_IsOneRingOfAllBlocks) {
  for (const auto& rings : ring_sets()) {
    for (const auto depth : {1U, 2U, 3U, 4U}) {
      expect_like_one_ring({.rings = rings, .chained = true, .depth = depth});
    }
  }
}

TEST(PrefetchChain, EveryNumberAndSizeOfRingsAndDepth_AllGather_IsOneRingOfAllBlocks) {
  for (const auto& rings : ring_sets()) {
    for (const auto depth : {1U, 2U, 4U}) {
      expect_like_one_ring({.rings = rings,
                            .chained = true,
                            .depth = depth,
                            .group_size = 2,
                            .chunk_bytes = 512,
                            .input_slots = 3,
                            .on_miss = MissPolicy::kRefuse});
    }
  }
}

TEST(PrefetchChain, LeadingBlocksOfAnyRing_AreLeftOutOfTheOrder) {
  for (const auto depth : {1U, 3U}) {
    expect_like_one_ring(
        {.rings = {uneven(2), uneven(5)}, .chained = true, .depth = depth, .leading = {0, 2}});
    expect_like_one_ring(
        {.rings = {uneven(4), uneven(5)}, .chained = true, .depth = depth, .leading = {2, 3}});
  }
}

TEST(PrefetchChain, RingThatAForwardLeavesOut_IsRepaired) {
  for (const auto depth : {1U, 2U, 4U}) {
    RingFixture fixture(
        FixtureOptions{.rings = {{256, 256}, {512, 512, 512}}, .chained = true, .depth = depth});
    fixture.chain().prime();
    fixture.walk(in_order(2), 0);
    fixture.walk(in_order(3), 1);
    fixture.walk(in_order(3), 1);
    fixture.walk(in_order(2), 0);
    fixture.walk(in_order(2), 0);
    fixture.walk(in_order(3), 1);
    expect_reads_match_loads(fixture);
  }
}

// The head of ring `r` is not what comes next.
void expect_refused(RingFixture& fixture, std::size_t r) {
  fixture.device.clear();
  try {
    fixture.ring(r).before_block(0);
    FAIL() << "a ring before ring " << r << " was left out";
  } catch (const RunError& error) {
    EXPECT_EQ(error.code(), codes::kStaleSlot);
  }
  EXPECT_TRUE(fixture.device.log().empty()) << "nothing is issued before the refusal";
}

TEST(PrefetchChain, RingThatAForwardLeavesOutUnderRefusal_IsStaleSlot) {
  for (const auto depth : {1U, 2U, 4U}) {
    const FixtureOptions options{.rings = {{256, 256}, {512, 512, 512}},
                                 .chained = true,
                                 .depth = depth,
                                 .on_miss = MissPolicy::kRefuse};
    RingFixture first_forward(options);
    first_forward.chain().prime();
    expect_refused(first_forward, 1);
    RingFixture later_forward(options);
    later_forward.chain().prime();
    walk_all(later_forward, options);
    expect_refused(later_forward, 1);
    RingFixture parent(options);
    parent.chain().prime();
    parent.walk(in_order(2), 0);
    expect_refused(parent, 0);
    RingFixture never_primed(options);
    expect_refused(never_primed, 1);
    walk_all(never_primed, options);  // the refusal left the order as it was
    EXPECT_EQ(never_primed.chain().counts().repairs, 1U);
  }
}

TEST(PrefetchChain, WalkThatEndsEarly_NextForwardIsRightByRepair) {
  for (const auto depth : {1U, 2U, 4U}) {
    RingFixture fixture(
        FixtureOptions{.rings = {{256, 256}, {512, 512, 512}}, .chained = true, .depth = depth});
    fixture.chain().prime();
    for (const std::uint32_t walked : {0U, 1U, 2U, 3U}) {
      fixture.walk(in_order(2), 0);
      fixture.walk(in_order(walked), 1);
    }
    fixture.walk({0}, 0);
    fixture.walk({1, 2}, 1);
    expect_reads_match_loads(fixture);
  }
}

TEST(PrefetchChain, BlockLeftOutUnderRefusal_IsStaleSlotWithBothRingsNamed) {
  RingFixture fixture(FixtureOptions{
      .rings = {{256, 256}, {512, 512, 512}}, .chained = true, .on_miss = MissPolicy::kRefuse});
  fixture.chain().prime();
  fixture.walk({0}, 0);
  fixture.device.clear();
  try {
    fixture.ring(1).before_block(0);
    FAIL() << "the refiner's second block was left out";
  } catch (const RunError& error) {
    EXPECT_EQ(error.code(), codes::kStaleSlot);
    EXPECT_NE(error.refusal().what.find("block 0 runs where block 1 of ring 0 is held"),
              std::string::npos)
        << error.refusal().what;
  }
  EXPECT_TRUE(fixture.device.log().empty()) << "nothing is issued before the refusal";
}

TEST(PrefetchChain, Retire_WaitsForTheHeadOfTheRingThatIsWalkedNext) {
  RingFixture fixture(FixtureOptions{.rings = {{256, 256}, {512, 512, 512}}, .chained = true});
  fixture.chain().prime();
  fixture.walk(in_order(2), 0);
  fixture.walk(in_order(3), 1);
  fixture.device.clear();
  ASSERT_TRUE(fixture.chain().retire(fixture.device, {}).ok());
  ASSERT_EQ(fixture.device.log().size(), 2U);
  for (const auto& op : fixture.device.log()) {
    EXPECT_EQ(op.label.site, Site::kDrain);
    EXPECT_EQ(op.label.ring, 0);
  }
  fixture.walk(in_order(2), 0);
  EXPECT_EQ(fixture.chain().counts().repairs, 0U) << "the next request starts warm";
}

TEST(PrefetchChain, SecondChainOnTheSlots_IsRepairedOnEachEntryAndSoIsTheFirst) {
  for (const auto policy : {MissPolicy::kRepair, MissPolicy::kRefuse}) {
    RingFixture fixture(
        FixtureOptions{.rings = {{512, 512, 512}, {256, 256, 256}}, .on_miss = policy});
    fixture.chain(0).prime();
    for (int turn = 0; turn < 2; ++turn) {
      fixture.walk(in_order(3), 0);
      fixture.walk(in_order(3), 1);
    }
    expect_reads_match_loads(fixture);
    EXPECT_EQ(fixture.chain(0).counts().repairs, 1U);
    EXPECT_EQ(fixture.chain(1).counts().repairs, 2U);
  }
}

TEST(PrefetchChain, DepthOfAllBlocksOrRingOfAnotherChain_IsALogicError) {
  RingFixture fixture(FixtureOptions{.rings = {{256, 256}, {256, 256, 256}}, .depth = 2});
  test::RecordingDevice device;
  SlotPool pool(device, std::vector<DeviceSpan>(5));
  RankLocalTransfer transfer(device, {});
  EXPECT_THROW(PrefetchChain(pool, transfer, {.prefetch_depth = 2}, {{0, 2, 0}}), LogicError);
  EXPECT_THROW(PrefetchChain(pool, transfer, {.prefetch_depth = 4}, {{0, 2, 0}, {1, 2, 0}}),
               LogicError);
  EXPECT_THROW(PrefetchChain(pool, transfer, {}, {{0, 2, 2}, {1, 2, 0}}), LogicError);
  EXPECT_THROW(static_cast<void>(fixture.chain(0).first_position(1)), LogicError);
}

}  // namespace
}  // namespace dlo::hot_path
