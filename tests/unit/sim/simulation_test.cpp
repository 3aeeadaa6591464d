// Goal: the real backend and hot path hold every oracle on every schedule that the simulator draws,
// and a run repeats exactly from its seed.
// Method: a bounded number of drawn cases, one schedule each; exploration proper runs many more.
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "engine/simulation/exploration.h"
#include "platform/cpu/thread_executor.h"
#include "platform/forwarding_device.h"
#include "platform/posix/steady_clock.h"

namespace dlo::engine {
namespace {

// The two forms of a staged load (hot_path/staged_transfer.h).
struct PackForms {
  bool plain = false;
  bool ahead = false;
};

// Notes the form of each load: a begin by itself finishes no chunk, and its label names none.
class PackFormDevice final : public platform::ForwardingDevice {
 public:
  PackFormDevice(std::unique_ptr<platform::Device> inner, PackForms& seen)
      : ForwardingDevice(std::move(inner)), seen_(seen) {}
  void launch_host(platform::StreamKind stream, platform::StreamTask task,
                   const platform::OpLabel& label) override {
    if (label.site == platform::Site::kPack) {
      begun_ = begun_ || label.chunk < 0;
      seen_.plain = seen_.plain || !begun_;
      // From the third chunk on a begin waits for a copy of the same load.
      seen_.ahead = seen_.ahead || (begun_ && label.chunk >= 2);
    }
    ForwardingDevice::launch_host(stream, std::move(task), label);
  }

 private:
  PackForms& seen_;
  bool begun_ = false;
};

TEST(Simulation, DrawnCases_EveryOracleHolds) {
  std::size_t plain_cases = 0;
  std::size_t ahead_cases = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const auto simulated = draw_case(seed);
    PackForms seen;
    SimulatedExtras extras;
    extras.decorate = [&seen](std::unique_ptr<platform::Device> device, int) {
      return std::make_unique<PackFormDevice>(std::move(device), seen);
    };
    const auto verdict = simulate(simulated, seed, extras);
    ASSERT_TRUE(verdict.ok()) << "seed " << seed << ": " << simulated.text() << "\n"
                              << verdict.violation;
    plain_cases += seen.plain ? 1U : 0U;
    ahead_cases += seen.ahead ? 1U : 0U;
  }
  EXPECT_GE(plain_cases, 10U);
  EXPECT_GE(ahead_cases, 10U);
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
