// Owns: `dlo gate`: read scenarios, plan jobs, run them one after the other, judge, write, and the
// exit code. Must not own: each of these steps (gate/).
// Threading: one process, started without mpirun. Failure: nothing is started before scenarios are
// read, mpirun is found and the output folder is writable.
#pragma once

#include "harness/cli/arguments.h"
#include "harness/cli/command.h"

namespace dlo::harness {

[[nodiscard]] ExitCode run_gate(const CommandContext& context, const Arguments& arguments);

}  // namespace dlo::harness
