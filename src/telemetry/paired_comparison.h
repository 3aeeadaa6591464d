// Owns: the one way in which two things are compared here: arms measured in rounds, every arm once
// a round in a seeded random order, and what their paired samples say: medians, the difference with
// its interval, the noise floor.
// Must not own: what is measured, clocks, files. Pure functions; one input, one answer.
//
// Why: a machine drifts (clocks, heat, neighbours) by more than the differences that matter. Arms
// of one round share the drift, a random order keeps it from always meeting the same arm.
// Statistics: the difference is the Hodges-Lehmann estimate (median of the Walsh averages of the
// paired differences), its interval the exact one of Wilcoxon's signed-rank test: M. Hollander, D.
// A. Wolfe, E. Chicken, Nonparametric Statistical Methods, 3rd ed., 2014, sections 3.2 and 3.3.
// No normality is assumed; paired differences must be symmetric, which arms that are exchangeable
// within a round give.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dlo::telemetry {

// The order in which round `round` visits `arm_count` arms: a permutation drawn from (seed, round)
// alone, so that every rank walks the same way.
[[nodiscard]] std::vector<std::uint32_t> arm_order(std::uint64_t seed, std::uint32_t round,
                                                   std::uint32_t arm_count);

// Middle value, mean of the two middle ones for an even number. Precondition: not empty.
[[nodiscard]] double median_of(std::vector<double> values);
// Nearest rank: the smallest value that `percent` % of the values do not exceed. Same precondition.
[[nodiscard]] double percentile_of(std::vector<double> values, double percent);

inline constexpr double kIntervalCoverage = 0.95;

struct PairedDifference {
  double difference = 0;  // arm - baseline, Hodges-Lehmann
  double low = 0;         // of the interval
  double high = 0;
  // What the interval really covers: at least 0.95 from six rounds on; with fewer it is the widest
  // that they give, 1 - 2^(1 - rounds).
  double coverage = 0;
};

// Pairs are equal positions. Precondition: equal sizes, not empty.
[[nodiscard]] PairedDifference paired_difference(std::span<const double> baseline,
                                                 std::span<const double> arm);

// What one arm gave: the samples of each round.
struct ArmSamples {
  std::string name;
  std::vector<std::vector<double>> rounds;
};

struct ArmSummary {
  std::string name;
  double median = 0;  // over all samples
  double p99 = 0;
  std::uint64_t sample_count = 0;
  // Against the first arm, by the medians of each round; none for the first arm itself.
  std::optional<PairedDifference> difference;
  // The same as a share of the first arm's median over rounds.
  std::optional<PairedDifference> relative;
};

struct PairedReport {
  std::vector<ArmSummary> arms;
  std::uint32_t rounds = 0;
  // Share of the baseline below which a difference says nothing: the farther end of the interval
  // of the arm that is the baseline once more. None without such an arm.
  std::optional<double> noise_floor;
};

// The first arm is the baseline; `twin` is the index of the arm that measures it again (A/A).
// Precondition: every arm has the same number of rounds, at least one, each with a sample.
[[nodiscard]] PairedReport compare_arms(const std::vector<ArmSamples>& arms,
                                        std::optional<std::size_t> twin);

}  // namespace dlo::telemetry
