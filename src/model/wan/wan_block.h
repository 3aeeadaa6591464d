// Owns: the arithmetic of one Wan block: modulated self-attention, cross-attention to the text,
// modulated feed-forward. Must not own: weights (views come in), launch order, embeddings.
// Threading: called inside compute-stream tasks under c10::InferenceMode.
// Source: diffusers WanTransformerBlock, models.md 4.1.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "model/dit_model.h"
#include "model/layers.h"
#include "model/torch_views.h"
#include "model/wan/wan_config.h"

namespace dlo::model {

// Shows the intermediates of one block to a tap, if there is one.
class BlockTap {
 public:
  BlockTap(ForwardTap* tap, std::uint32_t block) : tap_(tap), block_(block) {}

  // Name "block.N" + `suffix`.
  void see(const char* suffix, const at::Tensor& tensor) const {
    if (tap_ != nullptr) {
      tap_->see("block." + std::to_string(block_) + suffix, tensor);
    }
  }

 private:
  ForwardTap* tap_;
  std::uint32_t block_;
};

// What every block of a forward reads beside the hidden states.
struct WanConditioning {
  at::Tensor text;        // [batch, text tokens, hidden]
  at::Tensor modulation;  // [batch, 1 or tokens, 6, hidden]: the projected time embedding
  RopeTables rope;
};

// Hidden states [batch, tokens, hidden] after the block, in the arithmetic of `hidden` (layers.h).
// BF16: written into `hidden`.
[[nodiscard]] at::Tensor wan_block(const WanConfig& config, const AttentionOptions& attention,
                                   const BlockViews& views, const WanConditioning& conditioning,
                                   const at::Tensor& hidden, const BlockTap& tap);

}  // namespace dlo::model
