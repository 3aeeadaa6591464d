// Owns: the figures of a scenario: which there are, how each follows from the ranks' reports, and
// the paragraph that defines it (what is counted, where it is read, what it is held against).
// Must not own: measuring (engine, telemetry) or verdicts (expectations.h). Pure functions.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "engine/run_report.h"
#include "harness/results.h"

namespace dlo::harness {

struct MetricDefinition {
  std::string_view name;   // as in results.json
  std::string_view title;  // for people
  std::string_view unit;   // "bytes", "calls", "ms"
  std::string_view definition;
};

// All metrics, in the order of results.json and of the report.
[[nodiscard]] std::span<const MetricDefinition> metric_definitions();

// Figures over all ranks that took part. Empty when no rank reported.
[[nodiscard]] std::vector<Metric> metrics_of(const engine::RunReport& report);

}  // namespace dlo::harness
