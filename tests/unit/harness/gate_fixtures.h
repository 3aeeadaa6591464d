// What the gate's tests share: a scenario that loses a rank, and the facts of jobs in which
// everybody did right, to be bent by each test.
// Must not own: expectations. Pure functions; header only.
#pragma once

#include <string>
#include <vector>

#include "harness/gate/gate_judge.h"
#include "tests/unit/harness/harness_fixtures.h"

namespace dlo::harness {

inline Json crash_document(const std::string& transfer, int dp = 2,
                           const std::string& kind = "rank_dies") {
  Json document = small_document();
  document["name"] = "lost";
  document["topology"] = {{"dp", dp}};
  document["transfer"] = transfer;
  document["requests"] = {{"count", dp}};
  document["faults"] = {{kind, {{"rank", 1}, {"where", "copy"}}}};
  document["expect"] = {{{"outcome", "fails_closed"}, {"code", "peer_failed"}}};
  if (transfer == "rank_local") {
    document["compare_with"] = "resident";
  }
  return document;
}

inline GateJob job_of(const Json& document, const std::vector<int>& worlds = {4}) {
  const auto scenarios = read_scenarios(document, {.file = "lost.json", .run_seed = 0});
  return plan_gate(scenarios.value(), worlds).jobs.front();
}

inline ScenarioEnding ending(const std::string& scenario, const std::string& code,
                             const std::vector<int>& group) {
  ScenarioEnding made;
  made.scenario = scenario;
  made.outcome = code.empty() ? "runs" : "fails_closed";
  made.code = code;
  made.message = code.empty() ? "" : "the process of rank 1 ended (rank 1, liveness)";
  made.weight_group = group;
  made.ended_at_ns = 3 * kSecond;
  return made;
}

// Rank 1 is lost at 2 s, the others end at 3 s as they should.
inline JobFacts good_crash_facts(const GateJob& job) {
  JobFacts facts;
  facts.started = true;
  facts.ended = "exit code 0";
  facts.succeeded = true;
  const Scenario& scenario = job.own_scenario();
  const bool shares = scenario.options.dlo_use_allgather;
  std::vector<int> group;
  for (int rank = 0; shares && rank < job.ranks; ++rank) {
    group.push_back(rank);
  }
  for (int rank = 0; rank < job.ranks; ++rank) {
    RankVerdict verdict;
    verdict.rank = rank;
    const engine::RequestDigest output{static_cast<std::uint32_t>(rank), "digest"};
    for (std::size_t i = 0; i + 1 < job.plan.steps.size(); ++i) {
      verdict.endings.push_back(ending(job.plan.steps[i].scenario.name, "", {}));
      verdict.endings.back().outputs = {output};
    }
    if (rank == 1) {
      verdict.running = scenario.name;
      verdict.crash_at_ns = 2 * kSecond;
    } else {
      verdict.endings.push_back(ending(scenario.name, shares ? "peer_failed" : "", group));
      if (!shares) {
        verdict.endings.back().outputs = {output};
      }
    }
    facts.verdicts.push_back(verdict);
  }
  return facts;
}

// Every planned scenario ended as it expects.
inline JobFacts good_sweep_facts(const GateJob& job) {
  JobFacts facts;
  facts.started = true;
  facts.ended = "exit code 0";
  facts.succeeded = true;
  facts.duration_s = 1.5;
  facts.results = Results{};
  for (const PlannedScenario& step : job.plan.steps) {
    ScenarioResult result;
    result.name = step.scenario.name;
    result.outcome = "runs";
    result.passed = true;
    facts.results->scenarios.push_back(result);
  }
  return facts;
}

// All findings in one text.
inline std::string findings_of(const JobVerdict& verdict) {
  std::string text;
  for (const std::string& finding : verdict.findings) {
    text += finding + "\n";
  }
  for (const GateScenario& scenario : verdict.scenarios) {
    for (const std::string& finding : scenario.findings) {
      text += scenario.name + ": " + finding + "\n";
    }
  }
  return text;
}

}  // namespace dlo::harness
