// Owns: which mpirun jobs a gate runs: one sweep a world size, one job a scenario that ends its
// world or wants processes of its own, and what is expected to run in each.
// Must not own: starting jobs (gate_run.h) or verdicts (gate_judge.h). Pure.
#pragma once

#include <string>
#include <vector>

#include "harness/plan.h"
#include "harness/scenario.h"

namespace dlo::harness {

struct GateJob {
  std::string name;  // "sweep_np2", or that of the scenario
  int ranks = 1;
  bool own = false;    // for its last step alone
  bool crash = false;  // which ends its world
  Plan plan;           // what runs in it, in order

  // Of a job for one scenario.
  [[nodiscard]] const Scenario& own_scenario() const { return plan.steps.back().scenario; }
  // Where the job's files lie below the gate's folder, relative.
  [[nodiscard]] std::string folder() const;
};

struct GatePlan {
  std::vector<GateJob> jobs;
  std::vector<SkippedScenario> skipped;  // run in no world of the gate
};

// `worlds`: sizes above 0, at least one. `accelerators` are those that the jobs will find.
[[nodiscard]] GatePlan plan_gate(const std::vector<Scenario>& scenarios,
                                 const std::vector<int>& worlds,
                                 const AcceleratorCount& accelerators = {});

}  // namespace dlo::harness
