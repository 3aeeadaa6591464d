// Owns: the arithmetic of one Wan block: modulated self-attention, cross-attention to the text,
// modulated feed-forward. Must not own: weights (views come in), launch order, embeddings.
// Threading: called inside compute-stream tasks under c10::InferenceMode.
// Source: diffusers WanTransformerBlock, models.md 4.1.
#pragma once

#include <ATen/core/Tensor.h>

#include "model/forward_support.h"
#include "model/layers.h"
#include "model/torch_views.h"
#include "model/wan/wan_config.h"

namespace dlo::model {

struct WanArithmetic {
  AttentionOptions attention;
  bool fused_projections = false;  // q, k and v of the self-attention are one tensor
};

// What every block of a forward reads beside the hidden states.
struct WanConditioning {
  at::Tensor text;        // [batch, text tokens, hidden]
  at::Tensor modulation;  // [batch, 1 or tokens, 6, hidden]: the projected time embedding
  RopeTables rope;
};

// Hidden states [batch, tokens, hidden] after the block, in the arithmetic of `hidden` (layers.h).
// BF16: written into `hidden`.
[[nodiscard]] at::Tensor wan_block(const WanConfig& config, const WanArithmetic& arithmetic,
                                   const BlockViews& views, const WanConditioning& conditioning,
                                   const at::Tensor& hidden, const TapView& tap);

}  // namespace dlo::model
