// Owns: `dlo explore --scenario faults`: failing calls in the simulator and on files, and what is
// said of them. Must not own: the loops (engine/simulation). Failure: a folder for temporary files
// that cannot be made is a refusal; a fault that ends wrongly is exit code 1.
#pragma once

#include "engine/simulation/exploration.h"
#include "engine/simulation/fault_summary.h"
#include "harness/cli/command.h"

namespace dlo::harness {

// Random faults over the seeds of `request`, the fail-the-n-th loop over its case or the cases that
// reach every call, and the loop over file calls in a temporary folder.
[[nodiscard]] Result<engine::FaultSummary> run_fault_loops(const CommandContext& context,
                                                           const engine::ExploreRequest& request);

// Totals, one line a call site with the codes that were injected, and the sites that no run
// reached.
[[nodiscard]] std::string fault_text(const engine::FaultSummary& summary);

}  // namespace dlo::harness
