// Owns: reading `measure_forwards`: the arms of a throughput scenario and how they are timed.
// Must not own: their options' meaning (scenario_options.h), running, metrics.
// Failure: refusals that name the file and the arm.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "engine/throughput_spec.h"
#include "harness/json.h"

namespace dlo::harness {

// None where the document times no forwards. Options of the document hold for every arm, an arm's
// own come on top; an arm whose `when` does not hold is left out. Codes: unknown_option,
// invalid_value.
[[nodiscard]] Result<std::optional<engine::ThroughputSpec>> read_throughput(
    const Json& document, const std::string& where);

}  // namespace dlo::harness
