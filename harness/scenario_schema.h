// Owns: holding a scenario document against scenarios/schema.json, which is part of the program.
// Must not own: meaning (scenario.h). Pure; the compiled schema is built once.
#pragma once

#include <string>

#include "base/result.h"
#include "harness/json.h"

namespace dlo::harness {

// `where` names the file. Codes: unknown_option for a key that the schema does not know, with the
// nearest one; invalid_value for everything else, with the place in the document.
[[nodiscard]] Status check_schema(const Json& document, const std::string& where);

}  // namespace dlo::harness
