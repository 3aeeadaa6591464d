// Owns: the throughput part of a report: one table of arms for all throughput scenarios, a chart of
// each, one sentence of calibration a scenario.
// Must not own: the figures (throughput_metrics.h) or a format. Pure: from Results alone.
#pragma once

#include <vector>

#include "harness/report_model.h"
#include "harness/results.h"

namespace dlo::harness {

[[nodiscard]] bool times_forwards(const ScenarioResult& scenario);

// Empty rows when no scenario timed forwards. Its notes name the figures that are left out where
// the device's counters were absent, and why they were.
[[nodiscard]] Table throughput_table(const Results& results);
// One row a scenario: what the machine did in it.
[[nodiscard]] Table calibration_table(const Results& results);
[[nodiscard]] std::vector<BarChart> throughput_charts(const Results& results);
[[nodiscard]] std::vector<Definition> throughput_definitions(const Results& results);

}  // namespace dlo::harness
