// Goal: what an AllGather transfer prepares in set-up is every gather that loads issue afterwards,
// each once, so that nothing has to be made in a forward.
// Method: rings of uneven blocks walked over a communicator that compares.
#include "hot_path/all_gather_transfer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/hot_path/ring_expectations.h"
#include "tests/unit/hot_path/ring_fixture.h"

namespace dlo::test {
namespace {

FixtureOptions uneven(std::uint64_t chunk_bytes, std::uint32_t input_slots) {
  return {.rings = {{2048, 2048, 3072}, {1024, 5120}},
          .chained = true,
          .depth = 2,
          .group_size = 2,
          .chunk_bytes = chunk_bytes,
          .input_slots = input_slots};
}

void walk_all(RingFixture& fixture) {
  fixture.chain().prime();
  for (int forward = 0; forward < 5; ++forward) {
    fixture.walk({0, 1, 2}, 0);
    fixture.walk({0, 1}, 1);
  }
}

TEST(AllGatherTransfer, Prepare_NamesEveryGatherOfLaterLoads) {
  for (const std::uint64_t chunk_bytes : {0U, 512U, 1024U}) {
    for (const std::uint32_t input_slots : {1U, 2U, 3U}) {
      RingFixture fixture(uneven(chunk_bytes, input_slots));
      ASSERT_TRUE(fixture.transfer().prepare(fixture.slots()).ok());
      walk_all(fixture);
      const auto& group = fixture.communicator();
      EXPECT_GT(group.gather_count, 20U);
      EXPECT_EQ(group.unprepared_count, 0U)
          << "chunks of " << chunk_bytes << " bytes, " << input_slots << " input slots";
    }
  }
}

TEST(AllGatherTransfer, Prepare_NamesNoGatherTwice) {
  RingFixture fixture(uneven(512, 2));
  ASSERT_TRUE(fixture.transfer().prepare(fixture.slots()).ok());
  const auto& prepared = fixture.communicator().prepared;
  for (const auto& gather : prepared) {
    EXPECT_EQ(std::count(prepared.begin(), prepared.end(), gather), 1);
  }
  // Five chunks of 512 bytes a rank at most, three slots, two input slots.
  EXPECT_EQ(prepared.size(), 30U);
}

TEST(AllGatherTransfer, WithoutPrepare_LoadsAreTheSame) {
  RingFixture fixture(uneven(512, 2));
  RingFixture prepared(uneven(512, 2));
  ASSERT_TRUE(prepared.transfer().prepare(prepared.slots()).ok());
  walk_all(fixture);
  walk_all(prepared);
  EXPECT_EQ(fixture.device.texts(), prepared.device.texts());
  EXPECT_EQ(fixture.communicator().unprepared_count, fixture.communicator().gather_count);
}

}  // namespace
}  // namespace dlo::test
