// Goal: every seam call that a run makes, failing on every rank, ends in the right bytes or in one
// named error on every rank that did not finish, with everything released.
// Method: the fail-the-n-th loop over small cases that reach every transfer, then random faults.
#include "engine/simulation/fault_loop.h"

#include <gtest/gtest.h>

namespace dlo::engine {
namespace {

void expect_clean(const FaultSummary& summary) {
  EXPECT_TRUE(summary.clean()) << summary.hung << " hung, " << summary.different_bytes
                               << " with different bytes, " << summary.leaked << " leaked, "
                               << summary.otherwise_wrong << " otherwise wrong";
  for (const auto& problem : summary.first_problems) {
    ADD_FAILURE() << problem;
  }
}

TEST(FaultLoop, EveryCallOfEveryRankFails_EndsByNameWithEverythingReleased) {
  FaultSummary all;
  for (const auto& simulated : fault_cases()) {
    const auto summary = fail_every_call(simulated, 1);
    expect_clean(summary);
    EXPECT_GT(summary.ended_by_name, 20U) << simulated.text();
    all += summary;
  }
  for (const auto& [call, injected] : all.injected_by_call) {
    // The hot path never copies to the host: the pipeline does, and its tests fail that call.
    EXPECT_EQ(injected == 0, call == "copy_to_host") << call;
  }
}

TEST(FaultLoop, RandomFaultsOverDrawnCases_NothingHangsLeaksOrDiffers) {
  const auto summary = fail_at_random(1, 300);
  expect_clean(summary);
  EXPECT_GT(summary.injected, 100U);
  EXPECT_GT(summary.survived + summary.ended_by_name, 100U);
}

}  // namespace
}  // namespace dlo::engine
