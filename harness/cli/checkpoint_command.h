// Owns: `dlo checkpoint create` and `inspect`. Must not own: formats (host_weights).
// Only rank 0 acts; the others wait for it. Failure: one line, exit code 1.
#pragma once

#include "harness/cli/arguments.h"
#include "harness/cli/command.h"

namespace dlo::harness {

[[nodiscard]] ExitCode create_checkpoint(const CommandContext& context, const Arguments& arguments);
[[nodiscard]] ExitCode inspect_checkpoint(const CommandContext& context,
                                          const Arguments& arguments);

}  // namespace dlo::harness
