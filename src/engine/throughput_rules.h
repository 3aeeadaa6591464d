// Owns: what a throughput run is refused for before anything starts.
// Must not own: the rules on one arm's options (config/rules.h), the run (throughput_run.h).
// A pure function, any thread.
#pragma once

#include <vector>

#include "base/refusal.h"
#include "engine/run_report.h"

namespace dlo::engine {

// Rules that an arm's options break, and what a throughput run itself refuses. Precondition:
// request.throughput.
[[nodiscard]] std::vector<Refusal> refuse_arms(const RunRequest& request);

}  // namespace dlo::engine
