// Owns: `dlo compare A B`: two folders with results.json, metric by metric.
// Must not own: the comparison (harness/compare.h). Rank 0 alone reads and prints.
// Failure: a folder without readable results is said and ends with 1; differences do not.
#pragma once

#include "harness/cli/arguments.h"
#include "harness/cli/command.h"

namespace dlo::harness {

[[nodiscard]] ExitCode run_compare(const CommandContext& context, const Arguments& arguments);

}  // namespace dlo::harness
