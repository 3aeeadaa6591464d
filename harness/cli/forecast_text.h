// Owns: a checkpoint's forecast as text for people and as JSON.
// Must not own: the figures (engine/checkpoint_forecast.h). Pure functions.
#pragma once

#include <string>

#include "base/json.h"
#include "engine/checkpoint_forecast.h"

namespace dlo::harness {

// Equal blocks in a row are one line.
[[nodiscard]] std::string forecast_text(const engine::ForecastRequest& request,
                                        const engine::CheckpointForecast& forecast);

// {"checkpoint", "topology", "verdict": {"code", "reason"}, "violations", "sources", "blocks",
// "no_token_bytes", "modes", "notes"}; code is "planned" where the checkpoint can be mapped.
[[nodiscard]] nlohmann::ordered_json forecast_json(const engine::ForecastRequest& request,
                                                   const engine::CheckpointForecast& forecast);

}  // namespace dlo::harness
