#include "harness/runner.h"

#include <fmt/format.h>

#include <set>

#include "base/codes.h"
#include "config/option_rows.h"
#include "engine/run_report_json.h"
#include "harness/metrics.h"
#include "harness/scenario_faults.h"
#include "harness/throughput_metrics.h"

namespace dlo::harness {
namespace {

using engine::RunReport;

engine::RunRequest make_request(const Scenario& scenario, const platform::Path& checkpoint) {
  engine::RunRequest request;
  request.name = scenario.name;
  request.model.checkpoint = checkpoint;
  request.model.runtime_dtype = scenario.model.dtype;
  request.model.keep_fp32_modules = scenario.model.keep_fp32_modules;
  request.model.compute_dtype = scenario.model.compute_dtype;
  request.model.attention = scenario.model.attention;
  request.model.fused_projections = scenario.model.fused_projections;
  request.options = scenario.options;
  request.parallel = scenario.parallel;
  request.requests = scenario.requests;
  request.platform = scenario.platform;
  request.throughput = scenario.throughput;
  request.measure_together = scenario.own_job && !scenario.ends_its_world();
  return request;
}

// A checkpoint that could not be made is an outcome like a checkpoint that could not be read.
RunReport without_model(const Refusal& refusal) {
  RunReport report;
  report.outcome = engine::Outcome::kRejected;
  report.code = refusal.code;
  report.message = refusal.message();
  report.violations = {refusal};
  return report;
}

// Figures of a run that failed sanity are not recorded; what the ranks are and did is.
Json rank_json(const engine::RankReport& rank, bool with_numbers) {
  Json json = engine::rank_report_to_json(rank);
  json.erase("throughput");  // with its traces; the scenario has what is made of it
  if (!with_numbers) {
    for (const char* numbers : {"owned", "baseline", "process", "traffic", "forward_ms"}) {
      json.erase(numbers);
    }
  }
  return json;
}

// Runs scenarios with faults. Before the first of its kind the same request runs without them: what
// libraries keep from their first use on (threads of OpenMP, segments and descriptors of Open MPI,
// arenas of malloc) is then part of what the process held before, and only growth beyond it counts.
class FaultRuns {
 public:
  explicit FaultRuns(const RunnerSeams& seams) : seams_(seams) {}

  RunReport run(const Scenario& scenario, const platform::Path& checkpoint) {
    if (!has_faults(scenario.platform)) {
      return seams_.run(make_request(scenario, checkpoint));
    }
    Scenario plain = scenario;
    plain.name = "without faults";
    plain.platform = without_faults(scenario.platform);
    const engine::RunRequest request = make_request(plain, checkpoint);
    if (warm_.insert(engine::request_to_json(request).dump()).second) {
      RunReport report = seams_.run(request);
      if (!report.world_usable) {
        return report;
      }
    }
    return seams_.run(make_request(scenario, checkpoint));
  }

 private:
  const RunnerSeams& seams_;
  std::set<std::string> warm_;
};

std::optional<Reference> reference_of(const Plan& plan, const PlannedScenario& step,
                                      const std::vector<RunReport>& reports) {
  if (!step.reference.has_value()) {
    return std::nullopt;
  }
  return Reference{.name = plan.steps.at(*step.reference).scenario.name,
                   .report = &reports.at(*step.reference)};
}

}  // namespace

ScenarioResult make_result(const Scenario& scenario, const RunReport& report,
                           const std::optional<Reference>& reference,
                           std::vector<TraceFile>* traces) {
  std::vector<Metric> metrics = metrics_of(report);
  const auto throughput = scenario.throughput.has_value()
                              ? summarise_throughput(report.ranks, *scenario.throughput)
                              : std::nullopt;
  if (throughput.has_value()) {
    const std::vector<Metric> more = throughput_metrics(*throughput);
    metrics.insert(metrics.end(), more.begin(), more.end());
  }
  const Verdict verdict = judge(scenario, report, reference, throughput, metrics);
  ScenarioResult result;
  result.name = scenario.name;
  result.model = scenario.model.label();
  result.device = scenario.platform.device;
  result.attention = scenario.model.attention;
  result.compute_dtype = dtype_name(scenario.model.compute_dtype);
  result.topology = topology_of(scenario.parallel);
  result.options = config::options_to_json(scenario.options);
  result.outcome = engine::outcome_name(report.outcome);
  result.code = report.code;
  result.message = report.message;
  result.expected_outcome = engine::outcome_name(scenario.expected.outcome);
  result.expected_code = scenario.expected.code;
  result.passed = verdict.passed;
  result.failed_checks = verdict.failed_checks;
  result.bytes_equal = verdict.bytes_equal;
  if (verdict.bytes_equal.has_value()) {
    result.compared_with =
        reference.has_value() ? reference->name : scenario.throughput->arms.front().name;
  }
  result.output_digest = report.output_digest;
  const bool has_numbers = verdict.sane && ran(report);
  if (has_numbers) {
    result.metrics = metrics;
    if (throughput.has_value()) {
      result.throughput = throughput_json(*throughput);
      if (traces != nullptr) {
        const auto of_run = traces_of(scenario.name, *throughput);
        traces->insert(traces->end(), of_run.begin(), of_run.end());
      }
    }
  }
  if (!report.ranks.empty()) {
    result.effective = engine::effective_to_json(report.ranks.front().effective);
    result.gather = report.ranks.front().gather;
  }
  for (const engine::RankReport& rank : report.ranks) {
    result.ranks.push_back(rank_json(rank, has_numbers));
  }
  return result;
}

RunnerResult run_plan(const Plan& plan, const RunnerSeams& seams) {
  RunnerResult result;
  std::vector<RunReport> reports;
  reports.reserve(plan.steps.size());
  FaultRuns runs(seams);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const PlannedScenario& step = plan.steps[i];
    seams.progress.begin(i, plan.steps.size(), step.scenario.name);
    if (seams.verdicts != nullptr) {
      seams.verdicts->begin(step.scenario.name);
    }
    const Result<platform::Path> checkpoint = seams.prepare_model(step.scenario.model);
    reports.push_back(checkpoint.ok() ? runs.run(step.scenario, *checkpoint)
                                      : without_model(checkpoint.refusal()));
    const RunReport& report = reports.back();
    if (seams.verdicts != nullptr) {
      seams.verdicts->end(step.scenario.name, report);
    }
    result.scenarios.push_back(
        make_result(step.scenario, report, reference_of(plan, step, reports), &result.traces));
    seams.progress.end(result.scenarios.back());
    if (!report.world_usable) {
      result.broken = refuse(report.code,
                             fmt::format("the ranks lost each other, {} scenarios did not run: {}",
                                         plan.steps.size() - i - 1, report.message),
                             step.scenario.name, "mend the first failure");
      break;
    }
  }
  seams.progress.finish();
  return result;
}

}  // namespace dlo::harness
