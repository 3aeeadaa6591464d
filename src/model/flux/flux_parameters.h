// Owns: the parameters of a FLUX.1 transformer: runtime names (diffusers' own with the component
// prefix), shapes, dtypes, and one ring over both block lists, dual-stream blocks first.
// Must not own: bindings, weights, arithmetic. Free of torch. Source: models.md 4.2.
#pragma once

#include "contracts/parameter_table.h"
#include "model/flux/flux_config.h"
#include "model/model_factory.h"

namespace dlo::model {

// Blocks and non-block children of `config` without bindings, in the class's registration order:
// the order in which flux_block.cpp and flux_transformer.cpp read them. With
// ModelOptions::fused_projections, q, k and v of each stream are one tensor: to_qkv, add_kv_proj.
[[nodiscard]] contracts::DitSpec describe_flux(const FluxConfig& config,
                                               const ModelOptions& options);

}  // namespace dlo::model
