// Owns: the parameters of a Wan transformer: runtime names (diffusers' own with the component
// prefix), shapes, dtypes, and where each stands in its block's list.
// Must not own: bindings, weights, arithmetic. Free of torch. Source: models.md 4.1.
#pragma once

#include <cstddef>

#include "contracts/parameter_table.h"
#include "model/model_factory.h"
#include "model/wan/wan_config.h"

namespace dlo::model {

// Positions in the non-block children's list.
namespace wan_edge_index {
inline constexpr std::size_t kScaleShiftTable = 0;
inline constexpr std::size_t kPatchEmbedding = 1;
inline constexpr std::size_t kTimeEmbedder1 = 3;
inline constexpr std::size_t kTimeEmbedder2 = 5;
inline constexpr std::size_t kTimeProj = 7;
inline constexpr std::size_t kTextEmbedder1 = 9;
inline constexpr std::size_t kTextEmbedder2 = 11;
inline constexpr std::size_t kProjOut = 13;
}  // namespace wan_edge_index

// Blocks and non-block children of `config` without bindings, in the class's registration order:
// the order in which wan_block.cpp reads them. With ModelOptions::fused_projections the
// self-attention's q, k and v are one tensor, as vllm-omni has them.
[[nodiscard]] contracts::DitSpec describe_wan(const WanConfig& config, const ModelOptions& options);

}  // namespace dlo::model
