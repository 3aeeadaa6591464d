#include "harness/gate/gate_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace dlo::harness {
namespace {

GateJob crash_job(const Scenario& scenario) {
  const auto ranks = static_cast<int>(ranks_needed(scenario));
  GateJob job{.name = scenario.name, .ranks = ranks, .crash = true, .plan = {}};
  // A world of exactly its size was asked for, so it cannot be refused.
  job.plan = plan_run({scenario}, ranks).value();
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

GatePlan plan_gate(const std::vector<Scenario>& scenarios, const std::vector<int>& worlds) {
  GatePlan plan;
  const int largest = *std::max_element(worlds.begin(), worlds.end());
  for (const int world : worlds) {
    GateJob job{.name = fmt::format("sweep_np{}", world),
                .ranks = world,
                .crash = false,
                .plan = plan_sweep(scenarios, world)};
    if (!job.plan.steps.empty()) {
      plan.jobs.push_back(std::move(job));
    }
  }
  for (const Scenario& scenario : scenarios) {
    if (ranks_needed(scenario) > largest) {
      plan.skipped.push_back({.name = scenario.name,
                              .topology = topology_of(scenario.parallel),
                              .reason = fmt::format("needs {} ranks, the largest world has {}",
                                                    ranks_needed(scenario), largest)});
    } else if (scenario.ends_its_world()) {
      plan.jobs.push_back(crash_job(scenario));
    }
  }
  return plan;
}

}  // namespace dlo::harness
