// Owns: `dlo explore`: seeds of the simulator from the command line, the failing one shrunk and
// printed as one command with its schedule. Must not own: oracles or schedules (engine/simulation).
// Runs in one process, without mpirun. Exit: 0 nothing failed, 1 a seed failed, 2 usage.
#pragma once

#include "harness/cli/arguments.h"
#include "harness/cli/command.h"

namespace dlo::harness {

[[nodiscard]] ExitCode run_explore(const CommandContext& context, const Arguments& arguments);

}  // namespace dlo::harness
