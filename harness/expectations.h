// Owns: the verdict on one scenario: is the outcome the expected one, did the run do what was
// asked, are the bytes the reference's, does the ledger equal the plan, is memory within its limit;
// then, and only for a sane run, are the measured figures within their references.
// Must not own: running, or figures (metrics.h). Pure; judges what rank 0 was told by all ranks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/run_report.h"
#include "harness/results.h"
#include "harness/scenario.h"
#include "harness/throughput_summary.h"

namespace dlo::harness {

struct Verdict {
  bool sane = true;    // numbers may be recorded
  bool passed = true;  // sane, and the measured figures hold
  std::optional<bool> bytes_equal;
  std::vector<std::string> failed_checks;  // one sentence each
};

// The report of an earlier step that this one's bytes are compared with.
struct Reference {
  std::string name;
  const engine::RunReport* report = nullptr;
};

// The outcome is kRuns or kFallsBack: there are outputs and figures.
[[nodiscard]] bool ran(const engine::RunReport& report);

// `throughput` and `metrics` are made of `report`.
[[nodiscard]] Verdict judge(const Scenario& scenario, const engine::RunReport& report,
                            const std::optional<Reference>& reference,
                            const std::optional<ThroughputSummary>& throughput,
                            const std::vector<Metric>& metrics);

}  // namespace dlo::harness
