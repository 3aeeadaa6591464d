// Goal: the real backend and hot path hold every oracle on every schedule that the simulator draws,
// and a run repeats exactly from its seed.
// Method: a bounded number of drawn cases, one schedule each; exploration proper runs many more.
#include <gtest/gtest.h>

#include "engine/simulation/simulated_run.h"

namespace dlo::engine {
namespace {

TEST(Simulation, DrawnCases_EveryOracleHolds) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const auto simulated = draw_case(seed);
    const auto verdict = simulate(simulated, seed);
    ASSERT_TRUE(verdict.ok()) << "seed " << seed << ": " << simulated.text() << "\n"
                              << verdict.violation;
  }
}

TEST(Simulation, SameSeedTwice_SameTrace) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto simulated = draw_case(seed);
    EXPECT_EQ(simulate(simulated, seed).trace_digest, simulate(simulated, seed).trace_digest)
        << "seed " << seed;
  }
}

TEST(SimulatedCase, SmallerCases_DifferAndEnd) {
  auto current = draw_case(7);
  std::size_t steps = 0;
  for (auto smaller = smaller_cases(current); !smaller.empty(); smaller = smaller_cases(current)) {
    ASSERT_NE(smaller.back(), current);
    current = smaller.back();
    ASSERT_LT(++steps, 500U);
  }
  EXPECT_GE(steps, 1U);
}

}  // namespace
}  // namespace dlo::engine
