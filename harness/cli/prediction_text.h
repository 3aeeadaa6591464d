// Owns: a prediction as a table for people and as JSON: every figure with its limit, the bound, and
// the source of every figure that it rests on.
// Must not own: the prediction (engine/simulation). Pure functions.
#pragma once

#include <string>

#include "base/json.h"
#include "engine/simulation/prediction.h"

namespace dlo::harness {

[[nodiscard]] std::string prediction_text(const engine::PredictRequest& request,
                                          const engine::PredictResult& result);
[[nodiscard]] nlohmann::json prediction_json(const engine::PredictRequest& request,
                                             const engine::PredictResult& result);

}  // namespace dlo::harness
