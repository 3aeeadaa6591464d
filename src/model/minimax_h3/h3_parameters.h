// Owns: the parameters of a MiniMax-H3 transformer under their native names with the component
// prefix: shapes, dtypes, the ring of its blocks, and the ring of its token refiner, a child large
// enough for one of its own.
// Must not own: bindings, weights, arithmetic. Free of torch. Source: models.md 4.3.
#pragma once

#include "contracts/parameter_table.h"
#include "model/minimax_h3/h3_config.h"
#include "model/model_factory.h"

namespace dlo::model {

// Blocks and children outside blocks and refiner, without bindings, in the original's order: the
// order in which h3_block.cpp and h3_transformer.cpp read them. The projections of q, k and v have
// recipes: stored head by head, run as all q, all k, all v. The stored rotary frequencies are a
// persistent buffer.
[[nodiscard]] contracts::DitSpec describe_h3(const H3Config& config, const ModelOptions& options);

// The refiner: "<component>.token_refiner", its parent the component.
[[nodiscard]] contracts::DitSpec describe_h3_refiner(const H3Config& config,
                                                     const ModelOptions& options);

}  // namespace dlo::model
