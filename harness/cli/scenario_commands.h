// Owns: `dlo run` and `dlo sweep`: read, agree, plan, run, write, report.
// Must not own: each of these steps. Collective: every rank calls with equal arguments.
// Failure: nothing runs before the files are read, agreed on and the output folder is writable;
// results appear complete or not at all.
#pragma once

#include "harness/cli/arguments.h"
#include "harness/cli/command.h"

namespace dlo::harness {

[[nodiscard]] ExitCode run_scenarios(const CommandContext& context, const Arguments& arguments);

}  // namespace dlo::harness
