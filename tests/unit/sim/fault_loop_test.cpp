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
    // Neither backend nor hot path copies to the host or reads files: the engine's tests do.
    EXPECT_EQ(injected == 0, call == "copy_to_host" || call.starts_with("file_")) << call;
  }
}

TEST(FaultLoop, ClockJumpsAnHourWhileEnabling_EndsByDeadlineOrNotAtAll) {
  for (const auto& simulated : fault_cases()) {
    for (std::uint64_t nth = 1; nth <= 2; ++nth) {
      platform::FaultPlan plan;
      plan.rules.push_back({.call = platform::SeamCall::kClock, .rank = 0, .nth = nth, .code = {}});
      const auto verdict = simulate(simulated, 1, {.faults = &plan});
      EXPECT_TRUE(verdict.ok()) << simulated.text() << ", reading " << nth << ": "
                                << verdict.violation;
      EXPECT_EQ(verdict.ranks.at(0).strike_count, 1U);
    }
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
