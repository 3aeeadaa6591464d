// Goal: a block's limits follow from the figures of the same run, and a figure that is missing
// leaves its limit out. Method: round numbers, worked out by hand.
#include "harness/block_limits.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace dlo::harness {
namespace {

using contracts::Transfer;

// Four blocks of 8 GB a forward over two ranks, each in two chunks.
engine::ArmMeasurement arm(Transfer transfer) {
  engine::ArmMeasurement arm;
  arm.rank.effective.transfer = transfer;
  arm.rank.effective.streamed_block_count = 4;
  arm.rank.effective.group_size = transfer == Transfer::kAllGather ? 2 : 1;
  arm.h2d_bytes_per_forward = transfer == Transfer::kAllGather ? 16'000'000'000 : 32'000'000'000;
  arm.blocks.emplace();
  arm.blocks->h2d_calls = transfer == Transfer::kAllGather ? 8 : 4;
  return arm;
}

engine::MachineCalibration calibration() {
  engine::MachineCalibration calibration;
  calibration.figures = {{"h2d_together_bytes_per_s", "bytes/s", 30e9, 20e9, 40e9, 8},
                         {"gather_bytes_per_s", "bytes/s", 100e9, 90e9, 200e9, 8},
                         {"event_ns", "ns", 250, 200, 900, 8},
                         {"copy_ns", "ns", 2000, 1500, 9000, 8},
                         {"gather_ns", "ns", 3500, 3000, 9000, 8}};
  calibration.link_bytes_per_s = {35e9, 50e9};
  return calibration;
}

void forget(engine::MachineCalibration& calibration, std::string_view name) {
  auto& figures = calibration.figures;
  figures.erase(std::remove_if(figures.begin(), figures.end(),
                               [&](const auto& figure) { return figure.name == name; }),
                figures.end());
}

TEST(BlockLimits, RankLocal_IsTheBestLinkRateAndFiveCalls) {
  const auto limits = block_limits(arm(Transfer::kRankLocal), calibration());
  EXPECT_DOUBLE_EQ(limits.h2d_ms.value(), 160);     // 8 GB at 50 GB/s
  EXPECT_DOUBLE_EQ(limits.dispatch_us.value(), 3);  // four events and a copy
  EXPECT_FALSE(limits.gather_ms);
}

TEST(BlockLimits, AllGather_CountsEachChunksEventsCopyAndGather) {
  const auto limits = block_limits(arm(Transfer::kAllGather), calibration());
  EXPECT_DOUBLE_EQ(limits.h2d_ms.value(), 80);     // the shard
  EXPECT_DOUBLE_EQ(limits.gather_ms.value(), 40);  // the block at 200 GB/s
  EXPECT_DOUBLE_EQ(limits.dispatch_us.value(), 1 + 2 * (1 + 2 + 3.5));
}

TEST(BlockLimits, Staged_HasNoLimitOfTheHost) {
  const auto limits = block_limits(arm(Transfer::kStaged), calibration());
  EXPECT_TRUE(limits.h2d_ms);
  EXPECT_FALSE(limits.dispatch_us);
}

TEST(BlockLimits, Resident_HasNone) {
  const auto limits = block_limits(arm(Transfer::kResident), calibration());
  EXPECT_FALSE(limits.h2d_ms || limits.gather_ms || limits.dispatch_us);
  auto nothing_streamed = arm(Transfer::kRankLocal);
  nothing_streamed.rank.effective.streamed_block_count = 0;
  EXPECT_FALSE(block_limits(nothing_streamed, calibration()).h2d_ms);
}

TEST(BlockLimits, FigureThatIsMissing_LeavesItsLimitOut) {
  for (const char* name : {"event_ns", "copy_ns", "gather_ns"}) {
    auto partial = calibration();
    forget(partial, name);
    EXPECT_FALSE(block_limits(arm(Transfer::kAllGather), partial).dispatch_us) << name;
    EXPECT_TRUE(block_limits(arm(Transfer::kAllGather), partial).h2d_ms) << name;
  }
  auto partial = calibration();
  forget(partial, "gather_ns");
  EXPECT_TRUE(block_limits(arm(Transfer::kRankLocal), partial).dispatch_us) << "it gathers nothing";
  const engine::MachineCalibration none;
  const auto limits = block_limits(arm(Transfer::kAllGather), none);
  EXPECT_FALSE(limits.h2d_ms || limits.gather_ms || limits.dispatch_us);
  auto untraced = arm(Transfer::kRankLocal);
  untraced.blocks.reset();
  EXPECT_FALSE(block_limits(untraced, calibration()).dispatch_us);
}

}  // namespace
}  // namespace dlo::harness
