// Owns: the arithmetic of MiniMax-H3's two kinds of blocks: the block of the stack, modulated by a
// row's timestep and kind, and the block of the token refiner without modulation or rotation.
// Must not own: weights (views come in), launch order, embeddings.
// Threading: called inside compute-stream tasks under c10::InferenceMode.
// Source: diffusers MiniMaxH3TransformerBlock and MiniMaxH3TokenRefinerBlock, models.md 4.3.
#pragma once

#include <ATen/core/Tensor.h>

#include "model/forward_support.h"
#include "model/minimax_h3/h3_config.h"

namespace dlo::model {

// Rotation of the leading channels of a head, halves against each other; fp32, heads broadcast.
struct H3Rope {
  at::Tensor cos;  // [rows, 1, 3 * frequencies]
  at::Tensor sin;
};

// What every block of a forward reads beside the hidden states.
struct H3Conditioning {
  at::Tensor embedding;   // [timesteps, time_dim], SiLU applied, of the arithmetic's dtype
  at::Tensor table_rows;  // [rows]: each row's place in a modulation table
  H3Rope rope;
};

// Hidden states [1, rows, hidden] after the block.
[[nodiscard]] at::Tensor h3_block(const H3Config& config, const AttentionOptions& attention,
                                  const BlockViews& views, const H3Conditioning& conditioning,
                                  const at::Tensor& hidden, const TapView& tap);

[[nodiscard]] at::Tensor h3_refiner_block(const H3Config& config, const AttentionOptions& attention,
                                          const BlockViews& views, const at::Tensor& hidden);

}  // namespace dlo::model
