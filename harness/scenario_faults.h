// Owns: reading a scenario's section `faults`, what is made to go wrong, into the platform's
// specification. Must not own: how faults come about (engine/injected_faults.h).
// Pure. Failure: Refusals unknown_option, invalid_value, without the file's name.
#pragma once

#include "base/result.h"
#include "engine/run_report.h"
#include "harness/json.h"

namespace dlo::harness {

// `faults` follows the schema.
[[nodiscard]] Status read_faults(const Json& faults, engine::PlatformSpec& spec);

// True when a fault is asked for that a run without faults does not have.
[[nodiscard]] bool has_faults(const engine::PlatformSpec& spec);

// `spec` with everything left out that has_faults() asks for.
[[nodiscard]] engine::PlatformSpec without_faults(engine::PlatformSpec spec);

}  // namespace dlo::harness
