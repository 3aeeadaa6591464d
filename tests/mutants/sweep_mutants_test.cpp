// Goal: the oracle of the sweep bites: each mutant that a decorator can make turns a sweep that
// passes into one that falls short.
// Method: the same small sweep with and without the mutant. Copies are slow, so that a missing
// ready wait shows; compute is slow for the free wait, because a slow copy would hide that one.
#include <gtest/gtest.h>

#include "platform/clock.h"
#include "tests/mutants/sweep_job.h"
#include "tests/property/backend/delay_device.h"
#include "tests/support/mutant_device.h"
#include "tests/support/poison_device.h"
#include "tests/support/protocol_guards.h"

namespace dlo::test {
namespace {

using platform::OpLabel;
using platform::Site;
using test_support::at_site;
using test_support::Mutation;
using test_support::PoisonDevice;

constexpr std::uint64_t kSlowCopyNs = 2'000'000;

DecorateDevice mutated(const Mutation& mutation) {
  return [mutation](std::unique_ptr<platform::Device> device) {
    return std::make_unique<test_support::MutantDevice>(std::move(device), mutation);
  };
}

std::unique_ptr<platform::Device> with_slow_compute(std::unique_ptr<platform::Device> device) {
  return std::make_unique<DelayDevice>(std::move(device), [](const OpLabel& label) {
    return label.site == Site::kCompute ? 3 * kMillisecond : 0;
  });
}

TEST(SweepMutants, NoMutation_EveryScenarioIsAsExpected) {
  EXPECT_EQ(count_fallen_short(run_small_sweep(kSlowCopyNs, {})), 0U);
  EXPECT_EQ(count_fallen_short(run_small_sweep(0, with_slow_compute)), 0U);
}

// Nobody reads a slot that was given back, late or not.
TEST(SweepMutants, PoisonedSlots_EveryScenarioIsAsExpected) {
  const auto poisoned = [](std::unique_ptr<platform::Device> device) {
    return std::make_unique<PoisonDevice>(with_slow_compute(std::move(device)));
  };
  EXPECT_EQ(count_fallen_short(run_small_sweep(kSlowCopyNs, poisoned)), 0U);
}

TEST(SweepMutants, PoisonBeforeTheRead_SweepFallsShort) {
  const auto poisoned = [](std::unique_ptr<platform::Device> device) {
    return std::make_unique<PoisonDevice>(std::move(device), PoisonDevice::When::kBeforeTheRead);
  };
  EXPECT_EQ(count_fallen_short(run_small_sweep(0, poisoned)), 4U);
}

TEST(SweepMutants, ReadyWaitSkipped_SweepFallsShort) {
  const auto results = run_small_sweep(kSlowCopyNs, mutated({at_site(Site::kReadyWait), {}, {}}));
  EXPECT_EQ(results.size(), 5U);
  EXPECT_EQ(count_fallen_short(results), 4U);
}

TEST(SweepMutants, FreeWaitSkipped_SweepFallsShort) {
  const auto results = run_small_sweep(0, [](std::unique_ptr<platform::Device> device) {
    return std::make_unique<test_support::MutantDevice>(with_slow_compute(std::move(device)),
                                                        Mutation{at_site(Site::kFreeWait), {}, {}});
  });
  EXPECT_EQ(count_fallen_short(results), 4U);
}

TEST(SweepMutants, StagingFreeWaitSkipped_StagedScenarioFallsShort) {
  const auto results =
      run_small_sweep(kSlowCopyNs, mutated({at_site(Site::kStagingFreeWait), {}, {}}));
  EXPECT_EQ(count_fallen_short(results), 1U);
}

TEST(SweepMutants, OneWrongByteInACopy_SweepFallsShort) {
  EXPECT_EQ(count_fallen_short(run_small_sweep(0, mutated({{}, {}, at_site(Site::kH2d)}))), 4U);
}

}  // namespace
}  // namespace dlo::test
