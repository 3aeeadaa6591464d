// Goal: the real backend and hot path hold every oracle on every schedule that the simulator draws,
// and a run repeats exactly from its seed.
// Method: a bounded number of drawn cases, one schedule each; exploration proper runs many more.
#include <gtest/gtest.h>

#include "engine/simulation/exploration.h"
#include "platform/cpu/thread_executor.h"
#include "platform/posix/steady_clock.h"

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

TEST(Exploration, AnyNumberOfWorkers_SameTraces) {
  const platform::SteadyClock clock;
  ExploreRequest request;
  request.last_seed = 60;
  platform::ThreadExecutor one(1);
  platform::ThreadExecutor three(3);
  const auto alone = explore(one, clock, request);
  const auto together = explore(three, clock, request);
  EXPECT_EQ(alone.trace_digest, together.trace_digest);
  EXPECT_EQ(alone.events_run, together.events_run);
  EXPECT_FALSE(alone.failure.has_value());
}

TEST(Exploration, RanksGiven_EveryDrawnCaseGathersOverThem) {
  const platform::SteadyClock clock;
  ExploreRequest request;
  request.last_seed = 20;
  request.ranks = 8;
  std::uint64_t forwards = 0;
  for (auto seed = request.first_seed; seed <= request.last_seed; ++seed) {
    const auto simulated = request.case_of(seed);
    EXPECT_EQ(simulated.ranks, 8U);
    EXPECT_TRUE(case_from_json(case_to_json(simulated)).ok()) << simulated.text();
    forwards += 8 * simulated.forwards();
  }
  platform::ThreadExecutor executor(2);
  const auto result = explore(executor, clock, request);
  EXPECT_FALSE(result.failure.has_value()) << result.failure->violation;
  EXPECT_EQ(result.forwards_run, forwards);
}

TEST(Exploration, CaseAsJson_RoundTripsAndNamesMistakes) {
  const auto simulated = draw_case(11);
  EXPECT_EQ(case_from_json(case_to_json(simulated)).value(), simulated);
  EXPECT_EQ(case_from_json({{"rangs", 1}}).refusal().action, "did you mean 'ranks'?");
  EXPECT_EQ(case_from_json({{"prefetch_depth", 9}}).refusal().code, "invalid_value");
  EXPECT_EQ(case_from_json({{"chunk_bytes", 100}}).refusal().code, "invalid_value");
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
