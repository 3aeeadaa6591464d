// Owns: from the command line to a subcommand and its exit code, on every rank alike.
// Must not own: the job's life (world_session.h), subcommands.
// Failure: ranks that were started with different words or builds end with ranks_disagree before
// anything else; an exception becomes one line, is raised for the other ranks and ends this one.
#pragma once

#include <string>
#include <vector>

#include "harness/cli/command.h"

namespace dlo::harness {

// `words` without the program's name.
[[nodiscard]] ExitCode dispatch(const CommandContext& context,
                                const std::vector<std::string>& words);

}  // namespace dlo::harness
