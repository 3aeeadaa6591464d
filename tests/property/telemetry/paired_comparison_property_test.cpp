// Goal: a comparison finds a shift that is there about as often as its interval promises, in spite
// of drift, and depends on nothing that it should not: the order of rounds, the unit, the sign.
// Method: RapidCheck draws samples and permutations; the rate of hits is counted over a fixed
// number of seeds, with bounds that chance alone misses once in 10^5 (binomial).
#include "telemetry/paired_comparison.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/seeded_random.h"

namespace dlo::telemetry {
namespace {

// Roughly normal (sum of uniforms), standard deviation 1.
double noise(SeededRandom& random) {
  double sum = 0;
  for (int i = 0; i < 12; ++i) {
    sum += static_cast<double>(random.below(1'000'000)) / 1e6;
  }
  return sum - 6;
}

std::vector<double> drawn_doubles(std::size_t count) {
  return *rc::gen::container<std::vector<double>>(
      count, rc::gen::map(rc::gen::inRange(-1'000'000, 1'000'000),
                          [](int value) { return static_cast<double>(value) / 1000; }));
}

// How many of `trials` intervals hold the shift, `rounds` rounds each, with a drift far above it.
int hits_of(std::size_t rounds, int trials) {
  constexpr double kShift = 0.7;
  int hits = 0;
  for (int trial = 0; trial < trials; ++trial) {
    SeededRandom random(static_cast<std::uint64_t>(trial) + 1000 * rounds);
    std::vector<double> baseline;
    std::vector<double> arm;
    for (std::size_t round = 0; round < rounds; ++round) {
      const double drift = 30 * noise(random);
      baseline.push_back(100 + drift + noise(random));
      arm.push_back(100 + drift + kShift + noise(random));
    }
    const auto difference = paired_difference(baseline, arm);
    hits += difference.low <= kShift && kShift <= difference.high ? 1 : 0;
  }
  return hits;
}

TEST(PairedDifference, KnownShift_IsInsideAtTheStatedRate) {
  constexpr int kTrials = 2000;
  for (const std::size_t rounds : {6U, 10U, 20U, 60U}) {
    const double coverage =
        paired_difference(std::vector<double>(rounds, 0), std::vector<double>(rounds, 1)).coverage;
    EXPECT_GE(coverage, kIntervalCoverage);
    const double deviation = std::sqrt(kTrials * coverage * (1 - coverage));
    EXPECT_NEAR(hits_of(rounds, kTrials), kTrials * coverage, 4.5 * deviation) << rounds;
  }
}

TEST(PairedDifference, FewRounds_SayWhatTheyCover) {
  const std::vector<double> zeros(5, 0);
  const std::vector<double> arm = {1, 5, 2, 4, 3};
  const auto difference = paired_difference(zeros, arm);
  EXPECT_DOUBLE_EQ(difference.coverage, 1 - 2.0 / 32);
  EXPECT_EQ(difference.low, 1);
  EXPECT_EQ(difference.high, 5);
  EXPECT_EQ(difference.difference, 3);
}

// Hollander, Wolfe, Chicken, example 3.1 (depression scale factor): n = 9, estimate -0.46, interval
// with 96.1 % (-0.786, -0.010).
TEST(PairedDifference, TextbookExample_IsMet) {
  const std::vector<double> x = {1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
  const std::vector<double> y = {0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
  const auto difference = paired_difference(x, y);
  EXPECT_NEAR(difference.difference, -0.46, 1e-9);
  EXPECT_NEAR(difference.low, -0.786, 1e-9);
  EXPECT_NEAR(difference.high, -0.010, 1e-9);
  EXPECT_NEAR(difference.coverage, 0.961, 5e-4);
}

RC_GTEST_PROP(PairedDifference, PermutedRounds_ChangeNothing, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(1, 40);
  const auto baseline = drawn_doubles(count);
  const auto arm = drawn_doubles(count);
  std::vector<double> other_baseline;
  std::vector<double> other_arm;
  for (const auto at :
       arm_order(*rc::gen::arbitrary<std::uint64_t>(), 0, static_cast<std::uint32_t>(count))) {
    other_baseline.push_back(baseline[at]);
    other_arm.push_back(arm[at]);
  }
  const auto a = paired_difference(baseline, arm);
  const auto b = paired_difference(other_baseline, other_arm);
  RC_ASSERT(a.difference == b.difference);
  RC_ASSERT(a.low == b.low);
  RC_ASSERT(a.high == b.high);
}

RC_GTEST_PROP(PairedDifference, SwappedArms_ChangeTheSign, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(1, 60);
  const auto baseline = drawn_doubles(count);
  const auto arm = drawn_doubles(count);
  const auto a = paired_difference(baseline, arm);
  const auto b = paired_difference(arm, baseline);
  RC_ASSERT(std::abs(a.difference + b.difference) < 1e-9);
  RC_ASSERT(std::abs(a.low + b.high) < 1e-9);
  RC_ASSERT(a.low <= a.difference && a.difference <= a.high);
}

RC_GTEST_PROP(ArmOrder, EveryRound_VisitsEveryArmOnce, ()) {
  const auto count = *rc::gen::inRange<std::uint32_t>(1, 12);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto round = *rc::gen::inRange<std::uint32_t>(0, 1000);
  auto order = arm_order(seed, round, count);
  RC_ASSERT(order == arm_order(seed, round, count));
  std::sort(order.begin(), order.end());
  std::vector<std::uint32_t> all(count);
  std::iota(all.begin(), all.end(), 0U);
  RC_ASSERT(order == all);
}

TEST(ArmOrder, OverManyRounds_EveryOrderComesUpAlike) {
  std::array<int, 3> first{};
  for (std::uint32_t round = 0; round < 3000; ++round) {
    ++first.at(arm_order(7, round, 3).front());
  }
  for (const int count : first) {
    EXPECT_NEAR(count, 1000, 120);  // 4.6 standard deviations
  }
}

TEST(CompareArms, Twin_GivesTheNoiseFloor) {
  const std::vector<ArmSamples> arms = {
      {"a", {{10}, {10}, {10}, {10}, {10}, {10}}},
      {"b", {{12, 13, 99}, {13}, {13}, {13}, {13}, {13}}},
      {"a again", {{10.1}, {9.8}, {10}, {10}, {10}, {10.2}}},
  };
  const auto report = compare_arms(arms, 2);
  ASSERT_EQ(report.arms.size(), 3U);
  EXPECT_EQ(report.rounds, 6U);
  EXPECT_FALSE(report.arms[0].difference.has_value());
  EXPECT_EQ(report.arms[1].difference->difference, 3);
  EXPECT_EQ(report.arms[1].relative->difference, 0.3);
  EXPECT_EQ(report.arms[1].sample_count, 8U);
  EXPECT_EQ(report.arms[1].p99, 99);
  EXPECT_NEAR(*report.noise_floor, 0.02, 1e-9);
  EXPECT_FALSE(compare_arms(arms, std::nullopt).noise_floor.has_value());
}

TEST(CompareArms, MissingRounds_AreAProgrammerError) {
  EXPECT_THROW(static_cast<void>(compare_arms({{"a", {{1}}}, {"b", {{1}, {2}}}}, std::nullopt)),
               LogicError);
  EXPECT_THROW(static_cast<void>(compare_arms({}, std::nullopt)), LogicError);
}

}  // namespace
}  // namespace dlo::telemetry
