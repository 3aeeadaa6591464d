// Owns: reading OffloadOptions from a scenario document or one of its arms: fields by their own
// names, and `transfer`, short for two of them.
// Must not own: rules between options (config). Pure.
#pragma once

#include <string>

#include "base/result.h"
#include "config/offload_options.h"
#include "harness/json.h"

namespace dlo::harness {

// Of `object`'s "options" and "transfer". `where` names the file. Codes: unknown_option,
// invalid_value.
[[nodiscard]] Result<config::OffloadOptions> read_options(const Json& object,
                                                          const std::string& where);

}  // namespace dlo::harness
