// Owns: which instances a world runs and in which order: what fits, what is skipped and why, and
// the resident reference that each comparison needs, run once and before its dependents.
// Must not own: running (runner.h). Pure functions.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "engine/accelerators.h"
#include "harness/results.h"
#include "harness/scenario.h"

namespace dlo::harness {

struct PlannedScenario {
  Scenario scenario;
  std::optional<std::size_t> reference;  // index of an earlier step
};

// What the machine has for scenarios with platform.device "cuda".
struct AcceleratorCount {
  bool in_build = false;  // the program can use them at all
  std::size_t count = 0;
};
[[nodiscard]] AcceleratorCount count_accelerators(const engine::Accelerators& found);

struct Plan {
  std::vector<PlannedScenario> steps;
  std::vector<SkippedScenario> skipped;
};

// Ranks that an instance needs; 1 where its configuration is refused anyway.
[[nodiscard]] std::int64_t ranks_needed(const Scenario& scenario);

// What a sweep runs in a world: larger topologies are skipped, surplus ranks stay idle. Scenarios
// that end their world are skipped too, and those that need accelerators which are not there.
[[nodiscard]] Plan plan_sweep(const std::vector<Scenario>& scenarios, int world_size,
                              const AcceleratorCount& accelerators = {});

// Skips what needs absent accelerators too; for the rest `dlo run` takes the world at its word:
// codes world_too_small when an instance does not fit, topology_mismatch when the largest one
// leaves ranks without work.
[[nodiscard]] Result<Plan> plan_run(const std::vector<Scenario>& scenarios, int world_size,
                                    const AcceleratorCount& accelerators = {});

}  // namespace dlo::harness
