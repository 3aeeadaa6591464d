// Owns: how matrix axes and `when` conditions name a place in a scenario: short names (dp,
// chunk_bytes, ...) and dotted paths (requests.steps).
// Must not own: what stands there (scenario.h). Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "harness/json.h"

namespace dlo::harness {

// JSON pointer of a name. Codes: unknown_option, with the nearest name.
[[nodiscard]] Result<Json::json_pointer> scenario_pointer(std::string_view name);

// True when each key of `when` stands in `document` with the value given, or with one of the
// values of a list. Places that are absent differ from every value.
[[nodiscard]] Result<bool> condition_holds(const Json& when, const Json& document);

}  // namespace dlo::harness
