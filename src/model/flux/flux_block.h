// Owns: the arithmetic of the two kinds of FLUX.1 blocks: the dual-stream block with joint
// attention of text and image, and the single-stream block with attention and MLP side by side.
// Must not own: weights (views come in), launch order, embeddings.
// Threading: called inside compute-stream tasks under c10::InferenceMode.
// Source: diffusers FluxTransformerBlock and FluxSingleTransformerBlock, models.md 4.2.
#pragma once

#include <ATen/core/Tensor.h>

#include "model/flux/flux_config.h"
#include "model/forward_support.h"

namespace dlo::model {

struct FluxArithmetic {
  AttentionOptions attention;
  bool fused_projections = false;  // q, k and v of a stream are one tensor
};

// What every block of a forward reads beside the hidden states.
struct FluxConditioning {
  at::Tensor embedding;  // [batch, hidden], SiLU applied: what the modulations are made of
  RopeTables rope;       // text rows first
};

// The two streams between dual-stream blocks.
struct FluxStreams {
  at::Tensor text;   // [batch, text tokens, hidden]
  at::Tensor image;  // [batch, image tokens, hidden]
};

// Both streams after the block, in the arithmetic of their dtype (layers.h). BF16: written into
// `streams`.
[[nodiscard]] FluxStreams flux_dual_block(const FluxConfig& config,
                                          const FluxArithmetic& arithmetic, const BlockViews& views,
                                          const FluxConditioning& conditioning,
                                          const FluxStreams& streams, const TapView& tap);

// The concatenation [batch, text + image tokens, hidden] after the block. BF16: written into
// `hidden`.
[[nodiscard]] at::Tensor flux_single_block(const FluxConfig& config,
                                           const FluxArithmetic& arithmetic,
                                           const BlockViews& views,
                                           const FluxConditioning& conditioning,
                                           const at::Tensor& hidden, const TapView& tap);

}  // namespace dlo::model
