// Owns: the parameters of a UMT5 encoder: runtime names (transformers' own with the component
// prefix), shapes and dtypes, in the order in which umt5_encoder.cpp reads them.
// Must not own: bindings, weights, arithmetic. Free of torch. Source: models.md 4.1 "Text".
#pragma once

#include "contracts/parameter_table.h"
#include "model/model_factory.h"
#include "model/text/umt5_config.h"

namespace dlo::model {

// Every tensor among the non-block children, without blocks or bindings: the encoder comes and goes
// as a whole. With ModelOptions::keep_fp32_modules the second feed-forward matrices stay F32, as in
// transformers' _keep_in_fp32_modules.
[[nodiscard]] contracts::DitSpec describe_umt5(const Umt5Config& config,
                                               const ModelOptions& options);

}  // namespace dlo::model
