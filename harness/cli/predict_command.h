// Owns: `dlo predict`: from the flags to a request, and its answer as text or JSON.
// Must not own: the prediction (engine/simulation). Only rank 0 acts.
// Failure: one line; exit 1 for a calibration file that is bad, 2 for the command line.
#pragma once

#include "engine/simulation/prediction.h"
#include "harness/cli/arguments.h"
#include "harness/cli/command.h"

namespace dlo::harness {

// Reads the calibration file when one is named. Codes: invalid_value, unknown_option, and those of
// FileSystem::read_text.
[[nodiscard]] Result<engine::PredictRequest> predict_request(const platform::FileSystem& files,
                                                             const PredictArguments& arguments);

[[nodiscard]] ExitCode run_predict(const CommandContext& context, const Arguments& arguments);

}  // namespace dlo::harness
