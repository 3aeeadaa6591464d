// Owns: the JSON type of the harness. Ordered, so that files read in the order they were written
// and a matrix expands in the order of its axes.
// Must not own: formats (scenario.h, results.h).
#pragma once

#include <nlohmann/json.hpp>

namespace dlo::harness {

using Json = nlohmann::ordered_json;

}  // namespace dlo::harness
