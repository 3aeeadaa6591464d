// Owns: `dlo plan`: its request from the flags, and the run on rank 0.
// Must not own: the forecast (engine/checkpoint_forecast.h), its text (forecast_text.h).
// Exit codes: of a folder that gives no forecast, kFellShort; a verdict against mapping is none.
#pragma once

#include "engine/checkpoint_forecast.h"
#include "harness/cli/arguments.h"
#include "harness/cli/command.h"

namespace dlo::harness {

[[nodiscard]] engine::ForecastRequest forecast_request(const PlanArguments& arguments);

[[nodiscard]] ExitCode run_plan(const CommandContext& context, const Arguments& arguments);

}  // namespace dlo::harness
