#include "harness/gate/gate_judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "comm/process_groups.h"
#include "engine/run_report_json.h"
#include "harness/fault_checks.h"
#include "harness/scenario_faults.h"

namespace dlo::harness {
namespace {

using engine::Outcome;
using Findings = std::vector<std::string>;

std::string with_code(std::string_view outcome, const std::string& code) {
  return code.empty() ? std::string(outcome) : fmt::format("{} ({})", outcome, code);
}

std::string expected_text(const Scenario& scenario) {
  return with_code(engine::outcome_name(scenario.expected.outcome), scenario.expected.code);
}

// "sweep_np2/jobs: which scenario the job was in when it ended", from any rank that says so.
std::string running(const JobFacts& facts) {
  for (const RankVerdict& verdict : facts.verdicts) {
    if (!verdict.running.empty()) {
      return fmt::format("rank {} was in {}", verdict.rank, verdict.running);
    }
  }
  return "no rank says where it was";
}

void judge_process(const JobFacts& facts, Findings& findings) {
  if (!facts.started) {
    findings.push_back("the job did not start: " + facts.ended);
    return;
  }
  if (facts.timed_out) {
    findings.push_back(fmt::format("hung: did not end within its deadline; {}", running(facts)));
  }
  if (!facts.orphans.empty()) {
    findings.push_back(
        fmt::format("processes outlived the job: {}", fmt::join(facts.orphans, ", ")));
  }
  if (!facts.leftover_files.empty()) {
    findings.push_back(
        fmt::format("shared memory is left over: {}", fmt::join(facts.leftover_files, ", ")));
  }
}

GateScenario judge_scenario(const Scenario& scenario, const JobFacts& facts) {
  GateScenario judged{.name = scenario.name,
                      .outcome = "",
                      .code = "",
                      .expected = expected_text(scenario),
                      .findings = {}};
  const ScenarioResult* result = nullptr;
  if (facts.results.has_value()) {
    const auto& results = facts.results->scenarios;
    const auto found = std::find_if(results.begin(), results.end(), [&](const auto& candidate) {
      return candidate.name == scenario.name;
    });
    result = found == results.end() ? nullptr : &*found;
  }
  if (result == nullptr) {
    judged.findings.emplace_back("did not run");
    return judged;
  }
  judged.outcome = result->outcome;
  judged.code = result->code;
  judged.findings = result->failed_checks;
  // The job's own verdict is one witness, what this process read in the files is another.
  const std::string got = with_code(result->outcome, result->code);
  if (result->passed && got != judged.expected) {
    judged.findings.push_back(fmt::format("expected {}, got {}", judged.expected, got));
  }
  if (!result->passed && judged.findings.empty()) {
    judged.findings.emplace_back("fell short");
  }
  return judged;
}

void judge_sweep(const GateJob& job, JobVerdict& verdict) {
  const JobFacts& facts = verdict.facts;
  for (const PlannedScenario& step : job.plan.steps) {
    verdict.scenarios.push_back(judge_scenario(step.scenario, facts));
  }
  if (facts.results.has_value() && facts.results->scenarios.size() > job.plan.steps.size()) {
    verdict.findings.push_back(fmt::format("{} scenarios ran, {} were planned",
                                           facts.results->scenarios.size(), job.plan.steps.size()));
  }
  const bool all_passed = std::all_of(verdict.scenarios.begin(), verdict.scenarios.end(),
                                      [](const GateScenario& one) { return one.passed(); });
  if (facts.started && !facts.timed_out && facts.succeeded != all_passed) {
    verdict.findings.push_back(fmt::format("ended with {} although {}", facts.ended,
                                           all_passed ? "all is as expected" : "it fell short"));
  }
}

// World ranks that hold one copy of the weights together with `rank`, by what the scenario asks
// for. The engine's own answer is held against it.
std::vector<int> expected_group(const Scenario& scenario, int rank) {
  const comm::Topology topology{static_cast<int>(scenario.parallel.data_parallel_size),
                                static_cast<int>(config::sequence_size(scenario.parallel)),
                                static_cast<int>(scenario.parallel.tensor_parallel_size)};
  if (!scenario.streams() || !scenario.options.dlo_use_allgather) {
    return {};
  }
  if (topology.dp > 1) {
    return comm::dp_group(topology, rank);
  }
  return topology.sp > 1 ? comm::sp_group(topology, rank) : std::vector<int>{};
}

const RankVerdict* verdict_of(const JobFacts& facts, int rank) {
  const auto found =
      std::find_if(facts.verdicts.begin(), facts.verdicts.end(),
                   [rank](const RankVerdict& verdict) { return verdict.rank == rank; });
  return found == facts.verdicts.end() ? nullptr : &*found;
}

const ScenarioEnding* ending_of(const RankVerdict* verdict, const std::string& scenario) {
  if (verdict == nullptr) {
    return nullptr;
  }
  const auto found =
      std::find_if(verdict->endings.begin(), verdict->endings.end(),
                   [&](const ScenarioEnding& ending) { return ending.scenario == scenario; });
  return found == verdict->endings.end() ? nullptr : &*found;
}

// Judges the survivors of one crash job.
class CrashJudge {
 public:
  CrashJudge(const GateJob& job, JobVerdict& verdict)
      : job_(job),
        scenario_(job.own_scenario()),
        lost_(scenario_.platform.crash->rank),
        verdict_(verdict) {}

  void judge() {
    GateScenario judged{.name = scenario_.name,
                        .outcome = "",
                        .code = "",
                        .expected = expected_text(scenario_),
                        .findings = {}};
    findings_ = &judged.findings;
    const RankVerdict* lost = verdict_of(verdict_.facts, lost_);
    crash_at_ns_ = lost == nullptr ? std::nullopt : lost->crash_at_ns;
    if (!crash_at_ns_.has_value()) {
      find("rank {} never came to the place where it was to be lost", lost_);
    }
    for (int rank = 0; rank < job_.ranks; ++rank) {
      verdict_.rank_rows.push_back(rank == lost_ ? lost_row() : judge_survivor(rank, judged));
    }
    verdict_.scenarios.push_back(std::move(judged));
    judge_references();
    const bool dies = scenario_.platform.crash->kind == platform::CrashKind::kDies;
    // Under recovery mpirun ends with 0 whatever its ranks do: the verdicts count.
    if (!dies && verdict_.facts.succeeded) {
      verdict_.findings.emplace_back("mpirun ended with 0 although a rank was lost");
    }
  }

 private:
  template <typename... Arguments>
  void find(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    findings_->push_back(fmt::format(format, std::forward<Arguments>(arguments)...));
  }

  [[nodiscard]] GateRank lost_row() const {
    const bool dies = scenario_.platform.crash->kind == platform::CrashKind::kDies;
    return {.rank = lost_,
            .part = dies ? "killed" : "stopped",
            .outcome = "",
            .code = "",
            .named_after_s = std::nullopt};
  }

  GateRank judge_survivor(int rank, GateScenario& judged) {
    const std::vector<int> group = expected_group(scenario_, rank);
    const bool shares = std::find(group.begin(), group.end(), lost_) != group.end();
    GateRank row{.rank = rank,
                 .part = shares ? "shares weights" : "independent",
                 .outcome = "",
                 .code = "",
                 .named_after_s = std::nullopt};
    const ScenarioEnding* ending = ending_of(verdict_of(verdict_.facts, rank), scenario_.name);
    if (ending == nullptr) {
      find("rank {} left no verdict", rank);
      return row;
    }
    row.outcome = ending->outcome;
    row.code = ending->code;
    if (ending->weight_group != group) {
      find("rank {} reports the weight group [{}], the topology has [{}]", rank,
           fmt::join(ending->weight_group, ", "), fmt::join(group, ", "));
    }
    findings_->insert(findings_->end(), ending->leaks.begin(), ending->leaks.end());
    if (shares) {
      judged.outcome = ending->outcome;
      judged.code = ending->code;
      judge_name(*ending, row);
    } else {
      judge_independent(*ending, rank);
    }
    return row;
  }

  void judge_name(const ScenarioEnding& ending, GateRank& row) {
    const std::string got = with_code(ending.outcome, ending.code);
    if (got != expected_text(scenario_)) {
      find("rank {}: expected {}, got {}: {}", row.rank, expected_text(scenario_), got,
           ending.message);
    }
    if (ending.message.find(fmt::format("rank {}", lost_)) == std::string::npos) {
      find("rank {} does not name rank {}: {}", row.rank, lost_, ending.message);
    }
    if (!crash_at_ns_.has_value()) {
      return;
    }
    const Nanoseconds after = ending.ended_at_ns - *crash_at_ns_;
    row.named_after_s = static_cast<double>(after) / static_cast<double>(kSecond);
    if (after < 0 || after > kNamedWithin) {
      find("rank {} ended {:.1f} s after rank {} was lost, {} s are allowed", row.rank,
           *row.named_after_s, lost_, kNamedWithin / kSecond);
    }
  }

  void judge_independent(const ScenarioEnding& ending, int rank) {
    if (ending.outcome != engine::outcome_name(Outcome::kRuns)) {
      find("rank {} shares nothing with rank {} and ended with {}: {}", rank, lost_,
           with_code(ending.outcome, ending.code), ending.message);
      return;
    }
    if (ending.outputs.empty()) {
      find("rank {} answered no request", rank);
    }
    const std::optional<std::size_t> reference = job_.plan.steps.back().reference;
    if (!reference.has_value()) {
      return;
    }
    const ScenarioEnding* wanted =
        ending_of(verdict_of(verdict_.facts, rank), job_.plan.steps.at(*reference).scenario.name);
    const auto differing =
        compare_outputs(rank, ending.outputs,
                        wanted == nullptr ? std::vector<engine::RequestDigest>{} : wanted->outputs);
    findings_->insert(findings_->end(), differing.begin(), differing.end());
  }

  // What runs before the crash, to compare with.
  void judge_references() {
    for (std::size_t i = 0; i + 1 < job_.plan.steps.size(); ++i) {
      const Scenario& scenario = job_.plan.steps[i].scenario;
      GateScenario judged{.name = scenario.name,
                          .outcome = "",
                          .code = "",
                          .expected = expected_text(scenario),
                          .findings = {}};
      findings_ = &judged.findings;
      for (const RankVerdict& verdict : verdict_.facts.verdicts) {
        const ScenarioEnding* ending = ending_of(&verdict, scenario.name);
        judged.outcome = ending == nullptr ? "" : ending->outcome;
        judged.code = ending == nullptr ? "" : ending->code;
        if (with_code(judged.outcome, judged.code) != judged.expected) {
          find("rank {} ended with '{}'", verdict.rank, with_code(judged.outcome, judged.code));
        }
      }
      verdict_.scenarios.push_back(std::move(judged));
    }
  }

  const GateJob& job_;
  const Scenario& scenario_;
  int lost_;
  JobVerdict& verdict_;
  Findings* findings_ = nullptr;
  std::optional<Nanoseconds> crash_at_ns_;
};

bool found(const GateScenario& scenario, std::string_view words) {
  return std::any_of(
      scenario.findings.begin(), scenario.findings.end(),
      [words](const std::string& finding) { return finding.find(words) != std::string::npos; });
}

void count_scenario(const Scenario& scenario, const GateScenario& judged, FaultTotals& totals) {
  totals.different_bytes += found(judged, kBytesDiffer) ? 1U : 0U;
  totals.leaked += found(judged, kLeaked) ? 1U : 0U;
  if (!has_faults(scenario.platform)) {
    return;
  }
  totals.injected += 1;
  const bool survives = scenario.expected.outcome == Outcome::kRuns ||
                        scenario.expected.outcome == Outcome::kFallsBack;
  totals.survived += judged.passed() && survives ? 1U : 0U;
  totals.ended_by_name += judged.passed() && !survives ? 1U : 0U;
}

}  // namespace

bool JobVerdict::passed() const {
  return findings.empty() && std::all_of(scenarios.begin(), scenarios.end(),
                                         [](const GateScenario& one) { return one.passed(); });
}

JobVerdict judge_job(const GateJob& job, const JobFacts& facts) {
  JobVerdict verdict{.name = job.name,
                     .ranks = job.ranks,
                     .own = job.own,
                     .crash = job.crash,
                     .facts = facts,
                     .scenarios = {},
                     .rank_rows = {},
                     .findings = {}};
  judge_process(facts, verdict.findings);
  if (!job.crash) {
    judge_sweep(job, verdict);
  } else if (facts.started) {
    CrashJudge(job, verdict).judge();
  }
  return verdict;
}

FaultTotals count_faults(const std::vector<GateJob>& jobs,
                         const std::vector<JobVerdict>& verdicts) {
  FaultTotals totals;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const JobVerdict& verdict = verdicts[i];
    totals.hung += verdict.facts.timed_out ? 1U : 0U;
    totals.leaked +=
        verdict.facts.orphans.empty() && verdict.facts.leftover_files.empty() ? 0U : 1U;
    for (const PlannedScenario& step : jobs.at(i).plan.steps) {
      const auto judged = std::find_if(
          verdict.scenarios.begin(), verdict.scenarios.end(),
          [&](const GateScenario& candidate) { return candidate.name == step.scenario.name; });
      if (judged != verdict.scenarios.end()) {
        count_scenario(step.scenario, *judged, totals);
      }
    }
  }
  return totals;
}

}  // namespace dlo::harness
