#include "telemetry/paired_comparison.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/seeded_random.h"

namespace dlo::telemetry {

namespace {

// Above it the signed-rank distribution is as good as normal.
constexpr std::size_t kExactRoundsMax = 50;
constexpr double kNormalQuantile = 1.959963984540054;  // two-sided 95 %

// Averages of all pairs of differences, each with itself too, in order.
std::vector<double> walsh_averages(const std::vector<double>& differences) {
  std::vector<double> averages;
  averages.reserve(differences.size() * (differences.size() + 1) / 2);
  for (std::size_t i = 0; i < differences.size(); ++i) {
    for (std::size_t j = i; j < differences.size(); ++j) {
      averages.push_back((differences[i] + differences[j]) / 2);
    }
  }
  std::sort(averages.begin(), averages.end());
  return averages;
}

// How many of the 2^n sign patterns give each signed-rank sum.
std::vector<double> signed_rank_counts(std::size_t n) {
  std::vector<double> counts(n * (n + 1) / 2 + 1, 0.0);
  counts[0] = 1;
  for (std::size_t rank = 1; rank <= n; ++rank) {
    for (std::size_t sum = counts.size() - 1; sum >= rank; --sum) {
      counts[sum] += counts[sum - rank];
    }
  }
  return counts;
}

struct Cut {
  std::size_t dropped = 0;  // Walsh averages that lie outside on each side
  double coverage = 0;
};

// The largest number of averages to leave out on each side so that the rest still covers 95 %.
Cut exact_cut(std::size_t n) {
  const auto counts = signed_rank_counts(n);
  const double patterns = std::ldexp(1.0, static_cast<int>(n));
  Cut cut{0, 1 - 2 * counts[0] / patterns};
  double tail = counts[0];
  for (std::size_t dropped = 1; dropped < counts.size() / 2; ++dropped) {
    tail += counts[dropped];
    const double coverage = 1 - 2 * tail / patterns;
    if (coverage < kIntervalCoverage) {
      break;
    }
    cut = {dropped, coverage};
  }
  return cut;
}

Cut normal_cut(std::size_t n) {
  const auto count = static_cast<double>(n);
  const double mean = count * (count + 1) / 4;
  const double deviation = std::sqrt(count * (count + 1) * (2 * count + 1) / 24);
  return {static_cast<std::size_t>(mean - kNormalQuantile * deviation), kIntervalCoverage};
}

std::vector<double> round_medians(const ArmSamples& arm) {
  std::vector<double> medians;
  medians.reserve(arm.rounds.size());
  for (const auto& round : arm.rounds) {
    medians.push_back(median_of(round));
  }
  return medians;
}

std::vector<double> all_samples(const ArmSamples& arm) {
  std::vector<double> all;
  for (const auto& round : arm.rounds) {
    all.insert(all.end(), round.begin(), round.end());
  }
  return all;
}

PairedDifference scaled(const PairedDifference& difference, double by) {
  return {difference.difference / by, difference.low / by, difference.high / by,
          difference.coverage};
}

}  // namespace

std::vector<std::uint32_t> arm_order(std::uint64_t seed, std::uint32_t round,
                                     std::uint32_t arm_count) {
  std::vector<std::uint32_t> order(arm_count);
  std::iota(order.begin(), order.end(), 0U);
  // A stream of its own for each round: the first draws of neighbouring seeds are unrelated.
  SeededRandom random(SeededRandom(seed).next() + round);
  for (std::uint32_t i = arm_count; i > 1; --i) {
    std::swap(order[i - 1], order[random.below(i)]);
  }
  return order;
}

double median_of(std::vector<double> values) {
  require(!values.empty(), "a median of nothing");
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double percentile_of(std::vector<double> values, double percent) {
  require(!values.empty() && percent > 0 && percent <= 100, "a percentile of nothing");
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(static_cast<double>(values.size()) * percent / 100);
  return values[static_cast<std::size_t>(rank) - 1];
}

PairedDifference paired_difference(std::span<const double> baseline, std::span<const double> arm) {
  require(!baseline.empty() && baseline.size() == arm.size(), "pairs need equal sizes");
  std::vector<double> differences;
  for (std::size_t i = 0; i < arm.size(); ++i) {
    differences.push_back(arm[i] - baseline[i]);
  }
  const auto averages = walsh_averages(differences);
  const auto n = differences.size();
  const Cut cut = n <= kExactRoundsMax ? exact_cut(n) : normal_cut(n);
  return {median_of(averages), averages[cut.dropped], averages[averages.size() - 1 - cut.dropped],
          cut.coverage};
}

PairedReport compare_arms(const std::vector<ArmSamples>& arms, std::optional<std::size_t> twin) {
  require(!arms.empty() && (!twin || *twin < arms.size()), "arms are missing");
  const auto baseline = round_medians(arms.front());
  const double baseline_median = median_of(baseline);
  PairedReport report;
  report.rounds = static_cast<std::uint32_t>(baseline.size());
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const auto samples = all_samples(arms[i]);
    ArmSummary summary{.name = arms[i].name,
                       .median = median_of(samples),
                       .p99 = percentile_of(samples, 99),
                       .sample_count = samples.size(),
                       .difference = std::nullopt,
                       .relative = std::nullopt};
    if (i > 0) {
      summary.difference = paired_difference(baseline, round_medians(arms[i]));
      if (baseline_median > 0) {
        summary.relative = scaled(*summary.difference, baseline_median);
      }
    }
    report.arms.push_back(std::move(summary));
  }
  if (twin && *twin > 0 && report.arms[*twin].relative) {
    const auto& same = *report.arms[*twin].relative;
    report.noise_floor = std::max(std::abs(same.low), std::abs(same.high));
  }
  return report;
}

}  // namespace dlo::telemetry
