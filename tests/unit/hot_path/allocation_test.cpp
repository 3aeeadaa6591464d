// Goal: I11: between prime() and the end of the ring nothing is allocated.
// Method: operator new counts; a recording device whose log is preallocated; whole walks with
// refills, wrap-around, group-first repair and skipped blocks must read zero.
#include <gtest/gtest.h>

#include <memory>

#include "tests/support/allocation_counter.h"
#include "tests/unit/hot_path/ring_fixture.h"

namespace dlo::hot_path {
namespace {

using test::FixtureOptions;
using test::RingFixture;

std::uint64_t allocations_of(RingFixture& fixture) {
  const auto whole = test::in_order(5);
  const auto other = test::in_order(3);
  const std::vector<std::uint32_t> skipping = {0, 2, 3, 4};
  const auto before = test_support::allocation_count();
  fixture.ring().prime();
  for (int forward = 0; forward < 3; ++forward) {
    fixture.walk(whole);
    fixture.walk(other, 1);
    fixture.walk(skipping);
  }
  const auto retired = fixture.ring().retire({});
  const auto count = test_support::allocation_count() - before;
  EXPECT_TRUE(retired.ok());
  return count;
}

TEST(HotPathAllocation, CountingOperatorNew_SeesAnAllocation) {
  const auto before = test_support::allocation_count();
  static_cast<void>(std::make_unique<int>(1));
  EXPECT_GT(test_support::allocation_count(), before);
}

TEST(HotPathAllocation, WalksByRankLocal_AllocateNothing) {
  RingFixture fixture(
      FixtureOptions{.rings = {{512, 512, 2048, 512, 512}, {256, 256, 256}}, .depth = 2});
  EXPECT_EQ(allocations_of(fixture), 0U);
}

TEST(HotPathAllocation, WalksByAllGather_AllocateNothing) {
  RingFixture fixture(FixtureOptions{.rings = {{512, 512, 2048, 512, 512}, {256, 256, 256}},
                                     .depth = 2,
                                     .group_size = 2,
                                     .chunk_bytes = 256});
  EXPECT_EQ(allocations_of(fixture), 0U);
}

}  // namespace
}  // namespace dlo::hot_path
