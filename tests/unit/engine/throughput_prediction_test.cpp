// Goal: the machine that an arm is predicted on is the one that its transfer meets: the link alone,
// or packing and copying at once. Method: a calibration by hand.
#include "engine/throughput_prediction.h"

#include <gtest/gtest.h>

#include <utility>

#include "base/codes.h"

namespace dlo::engine {
namespace {

using contracts::Transfer;

MachineCalibration machine() {
  MachineCalibration machine;
  machine.block_bytes = 1'000'000;
  for (const auto& [name, rate] :
       {std::pair{"h2d_alone_bytes_per_s", 50e9}, std::pair{"h2d_together_bytes_per_s", 40e9},
        std::pair{"gather_bytes_per_s", 500e9}, std::pair{"pack_copy_bytes_per_s", 25e9}}) {
    machine.figures.push_back({name, "bytes/s", rate, rate, rate, 1});
  }
  return machine;
}

contracts::EffectiveTransfer effective(Transfer transfer, std::uint32_t group_size) {
  contracts::EffectiveTransfer effective;
  effective.transfer = transfer;
  effective.group_size = group_size;
  return effective;
}

Calibration calibration_for(Transfer transfer, std::uint32_t group_size) {
  return calibration_of_run(machine(), 2, effective(transfer, group_size), 5);
}

TEST(ThroughputPrediction, StagedArm_MeetsPackingAndCopyingAtOnce) {
  EXPECT_EQ(calibration_for(Transfer::kRankLocal, 1).h2d_rate(2).value().value, 40e9);
  EXPECT_EQ(calibration_for(Transfer::kStaged, 1).h2d_rate(2).value().value, 25e9);
}

TEST(ThroughputPrediction, GatheringArm_MeetsTheLinkAndItsGroupsGather) {
  const auto calibration = calibration_for(Transfer::kAllGather, 2);
  EXPECT_EQ(calibration.h2d_rate(2).value().value, 40e9);
  EXPECT_EQ(calibration.gather_rate(2).value().value, 500e9);
  EXPECT_FALSE(calibration.gather_rate(4).ok());
}

TEST(ThroughputPrediction, SlowerLink_IsALongerForward) {
  telemetry::ForwardTiming baseline;
  baseline.blocks.resize(4);
  const std::vector<std::uint64_t> block_bytes(4, 100'000'000);
  const auto predicted = [&](Transfer transfer) {
    const ArmToPredict arm{effective(transfer, 1)};
    return predict_forward_ms(calibration_for(transfer, 1), 2, arm, baseline, block_bytes).value();
  };
  // Four blocks without compute: what the link takes for them.
  EXPECT_NEAR(predicted(Transfer::kRankLocal), 4 * 2.5, 0.5);
  EXPECT_NEAR(predicted(Transfer::kStaged), 4 * 4.0, 0.5);
}

TEST(ThroughputPrediction, ChildRing_CostsItsBytesOnceAndItsComputeOnce) {
  telemetry::ForwardTiming baseline;
  baseline.blocks.resize(4);
  baseline.other_compute_ms = 30;
  baseline.child_compute_ms = 20;
  const std::vector<std::uint64_t> block_bytes(4, 100'000'000);
  const auto predicted = [&](Transfer transfer) {
    const ArmToPredict arm{.effective = effective(transfer, 1),
                           .child_block_bytes = {100'000'000, 100'000'000}};
    return predict_forward_ms(calibration_for(transfer, 1), 2, arm, baseline, block_bytes).value();
  };
  EXPECT_NEAR(predicted(Transfer::kResident), 30, 0.5) << "10 before its blocks and 20 in them";
  // Six blocks of 2.5 ms each, hidden beside 30 ms but for what the short main ring leaves open.
  EXPECT_GT(predicted(Transfer::kRankLocal), 30);
  EXPECT_LT(predicted(Transfer::kRankLocal), 30 + 6 * 2.5);
}

TEST(ThroughputPrediction, LeadingBlocksOnTheDevice_AreRefused) {
  telemetry::ForwardTiming baseline;
  baseline.blocks.resize(1);
  const ArmToPredict arm{.effective = effective(Transfer::kRankLocal, 1),
                         .stage_resident_bytes = 1};
  const auto predicted =
      predict_forward_ms(calibration_for(Transfer::kRankLocal, 1), 2, arm, baseline, {1000});
  ASSERT_FALSE(predicted.ok());
  EXPECT_EQ(predicted.refusal().code, codes::kNotInThisProduct);
}

}  // namespace
}  // namespace dlo::engine
