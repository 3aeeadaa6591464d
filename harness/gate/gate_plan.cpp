#include "harness/gate/gate_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

namespace dlo::harness {
namespace {

// A job for one scenario, and for the reference that it is compared with.
GateJob own_job(const Scenario& scenario, const AcceleratorCount& accelerators) {
  const auto ranks = static_cast<int>(ranks_needed(scenario));
  GateJob job{.name = scenario.name,
              .ranks = ranks,
              .own = true,
              .crash = scenario.ends_its_world(),
              .plan = {}};
  // A world of exactly its size was asked for, so it cannot be refused.
  job.plan = plan_run({scenario}, ranks, accelerators).value();
  return job;
}

}  // namespace

std::string GateJob::folder() const {
  std::string folder = name;
  std::replace_if(
      folder.begin(), folder.end(),
      [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_'; }, '-');
  return "jobs/" + folder;
}

GatePlan plan_gate(const std::vector<Scenario>& scenarios, const std::vector<int>& worlds,
                   const AcceleratorCount& accelerators) {
  GatePlan plan;
  std::set<std::string> placed;
  std::map<std::string, std::string> reasons;  // of the last world that has no place
  const int largest = *std::max_element(worlds.begin(), worlds.end());
  for (const int world : worlds) {
    GateJob job{.name = fmt::format("sweep_np{}", world),
                .ranks = world,
                .own = false,
                .crash = false,
                .plan = plan_sweep(scenarios, world, accelerators)};
    for (const PlannedScenario& step : job.plan.steps) {
      placed.insert(step.scenario.name);
    }
    for (const SkippedScenario& skipped : job.plan.skipped) {
      reasons[skipped.name] = skipped.reason;
    }
    if (!job.plan.steps.empty()) {
      plan.jobs.push_back(std::move(job));
    }
  }
  const auto skip = [&plan](const Scenario& scenario, std::string reason) {
    plan.skipped.push_back({.name = scenario.name,
                            .topology = topology_of(scenario.parallel),
                            .reason = std::move(reason)});
  };
  for (const Scenario& scenario : scenarios) {
    if (ranks_needed(scenario) > largest) {
      skip(scenario, fmt::format("needs {} ranks, the largest world has {}", ranks_needed(scenario),
                                 largest));
    } else if (scenario.ends_its_world() || scenario.own_job) {
      GateJob job = own_job(scenario, accelerators);
      if (job.plan.steps.empty()) {
        skip(scenario, job.plan.skipped.front().reason);
      } else {
        plan.jobs.push_back(std::move(job));
      }
    } else if (!placed.contains(scenario.name)) {
      skip(scenario, reasons.at(scenario.name));
    }
  }
  return plan;
}

}  // namespace dlo::harness
