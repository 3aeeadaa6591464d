// Owns: the comparison of two results files, metric by metric: difference, and where samples of
// rounds exist its interval and the noise floor.
// Must not own: statistics (telemetry/paired_comparison.h), files, the command line. Pure.
// Rounds of two runs are paired by their position: that costs precision against rounds that shared
// a run, and is valid as each run's order is random.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/json.h"
#include "harness/results.h"
#include "telemetry/paired_comparison.h"

namespace dlo::harness {

struct ComparedMetric {
  std::string scenario;
  std::string metric;
  std::string unit;
  double a = 0;
  double b = 0;
  // Of b against a, in the metric's unit; where both have rounds.
  std::optional<telemetry::PairedDifference> difference;
  std::optional<double> noise_floor;  // share of a: the larger of both runs'

  // b / a - 1; none for a = 0.
  [[nodiscard]] std::optional<double> relative() const;
  // "within noise", "less", "more": by interval and noise floor where they exist, else by value.
  [[nodiscard]] std::string verdict() const;
};

struct Comparison {
  std::vector<ComparedMetric> changed;  // in the order of a
  std::size_t equal_count = 0;          // metrics of one value in both
  // Scenarios in one file only, outcomes and bytes that differ, bytes that cannot be compared.
  std::vector<std::string> remarks;
};

[[nodiscard]] Comparison compare_results(const Results& a, const Results& b);

[[nodiscard]] std::string comparison_text(const Comparison& comparison);
[[nodiscard]] Json comparison_json(const Comparison& comparison);

}  // namespace dlo::harness
