// Owns: running a plan: one scenario after the other, collectively on all ranks, each judged
// against its expectation and its reference on rank 0.
// Must not own: the engine's work (the run function is given), files of results (results.h).
// Threading: one thread a rank; every rank walks the same plan.
// Failure: a scenario that falls short is a result. A world that broke ends the walk; the refusal
// says so and how much was left.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "engine/run_report.h"
#include "harness/expectations.h"
#include "harness/plan.h"
#include "harness/progress.h"
#include "harness/results.h"
#include "harness/trace_files.h"
#include "harness/verdict_log.h"

namespace dlo::harness {

struct RunnerSeams {
  std::function<Result<platform::Path>(const ModelChoice&)> prepare_model;
  std::function<engine::RunReport(const engine::RunRequest&)> run;
  Progress& progress;
  VerdictLog* verdicts = nullptr;  // this rank's, where it keeps one
};

struct RunnerResult {
  std::vector<ScenarioResult> scenarios;  // meaningful on rank 0
  std::vector<TraceFile> traces;          // likewise, of throughput scenarios
  std::optional<Refusal> broken;          // why the walk ended early
};

[[nodiscard]] RunnerResult run_plan(const Plan& plan, const RunnerSeams& seams);

// One result from what was asked, what happened and the verdict. `traces`, when given, gets those
// of a throughput run whose figures are recorded. Pure.
[[nodiscard]] ScenarioResult make_result(const Scenario& scenario, const engine::RunReport& report,
                                         const std::optional<Reference>& reference,
                                         std::vector<TraceFile>* traces = nullptr);

}  // namespace dlo::harness
