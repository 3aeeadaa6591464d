// Goal: I11: between prime() and the end of the ring nothing is allocated.
// Method: operator new counts; a recording device whose log is preallocated; whole walks with
// refills, wrap-around, group-first repair and skipped blocks must read zero.
#include <gtest/gtest.h>

#include <memory>

#include "platform/cpu/thread_executor.h"
#include "platform/fault/faulting_executor.h"
#include "tests/support/allocation_counter.h"
#include "tests/unit/hot_path/ring_fixture.h"
#include "tests/unit/hot_path/staged_fixture.h"

namespace dlo::hot_path {
namespace {

using test::FixtureOptions;
using test::RingFixture;

std::uint64_t allocations_of(RingFixture& fixture) {
  const auto whole = test::in_order(5);
  const auto other = test::in_order(3);
  const std::vector<std::uint32_t> skipping = {0, 2, 3, 4};
  const auto before = test_support::allocation_count();
  fixture.chain().prime();
  for (int forward = 0; forward < 3; ++forward) {
    fixture.walk(whole);
    fixture.walk(other, 1);
    fixture.walk(skipping);
  }
  const auto retired = fixture.chain().retire(fixture.device, {});
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

TEST(HotPathAllocation, WalksOfAChain_AllocateNothing) {
  RingFixture fixture(FixtureOptions{
      .rings = {{512, 512, 2048, 512, 512}, {256, 256, 256}}, .chained = true, .depth = 2});
  EXPECT_EQ(allocations_of(fixture), 0U);
}

TEST(HotPathAllocation, WalksByAllGather_AllocateNothing) {
  RingFixture fixture(FixtureOptions{.rings = {{512, 512, 2048, 512, 512}, {256, 256, 256}},
                                     .depth = 2,
                                     .group_size = 2,
                                     .chunk_bytes = 256});
  EXPECT_EQ(allocations_of(fixture), 0U);
}

// Packing is part of it: on this device the tasks of the pack stream run when they are issued.
TEST(HotPathAllocation, StagedLoads_AllocateNothing) {
  test::RecordingDevice device;
  platform::ThreadExecutor threads(3);
  const platform::FaultPlan nothing_fails;
  platform::FaultInjector injector(nothing_fails, 0);
  platform::FaultingExecutor workers(threads, injector);  // as the engine has them
  const auto slot = device.allocate_device(4096, platform::MemoryPurpose::kSlot).value();
  for (const std::size_t staging_chunks : {2U, 3U}) {  // each chunk by itself, and ahead
    test::StagedBlocks blocks({512, 4096, 0, 2048}, 512, staging_chunks);
    const auto transfer = blocks.make_transfer(device, &workers);
    const auto before = test_support::allocation_count();
    for (std::uint32_t load = 0; load < 12; ++load) {
      transfer->load(BlockLoad{0, load % 4, 0, slot->span(), {90}, {91}});
    }
    EXPECT_EQ(test_support::allocation_count() - before, 0U) << staging_chunks;
  }
}

}  // namespace
}  // namespace dlo::hot_path
