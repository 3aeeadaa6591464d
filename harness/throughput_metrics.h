// Owns: the figures of a throughput scenario by name: "rank_local.forward_ms" for those of an arm,
// "noise_floor_percent" for those of the run; how each follows from the summary, and the paragraph
// that defines it.
// Must not own: the summary (throughput_summary.h), verdicts. Pure functions.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "harness/json.h"
#include "harness/metrics.h"
#include "harness/throughput_summary.h"

namespace dlo::harness {

// Of an arm, names without it; then of the run. In the order of results.json.
[[nodiscard]] std::span<const MetricDefinition> arm_metric_definitions();
[[nodiscard]] std::span<const MetricDefinition> run_metric_definitions();

// Figures that were not measured are left out.
[[nodiscard]] std::vector<Metric> throughput_metrics(const ThroughputSummary& summary);

// Whether `name` can be a metric of the scenario `document`.
[[nodiscard]] bool is_throughput_metric(std::string_view name, const Json& document);

}  // namespace dlo::harness
