#include "model/wan/wan_block.h"

#include <ATen/TensorOperators.h>

#include "model/wan/wan_parameters.h"

namespace dlo::model {

namespace {

namespace at_index = wan_block_index;

// The ten tensors of one attention, from its first.
struct AttentionWeights {
  explicit AttentionWeights(const at::Tensor* first)
      : to_q{first[0], first[1]},
        to_k{first[2], first[3]},
        to_v{first[4], first[5]},
        to_out{first[6], first[7]},
        norm_q(first[8]),
        norm_k(first[9]) {}

  LinearWeights to_q;
  LinearWeights to_k;
  LinearWeights to_v;
  LinearWeights to_out;
  const at::Tensor& norm_q;
  const at::Tensor& norm_k;
};

// `context` is what keys and values are made of; `rope` is null in the cross-attention.
at::Tensor attend(const WanConfig& config, const AttentionOptions& options,
                  const AttentionWeights& weights, const at::Tensor& input,
                  const at::Tensor& context, const RopeTables* rope) {
  const auto split_heads = [&config](const at::Tensor& tensor) {
    return tensor.unflatten(-1, {config.num_attention_heads, config.attention_head_dim});
  };
  // The statistic of these norms runs over all heads together.
  at::Tensor query = split_heads(rms_norm(linear(input, weights.to_q), weights.norm_q, config.eps));
  at::Tensor key = split_heads(rms_norm(linear(context, weights.to_k), weights.norm_k, config.eps));
  const at::Tensor value = split_heads(linear(context, weights.to_v));
  if (rope != nullptr) {
    query = apply_rope(query, *rope);
    key = apply_rope(key, *rope);
  }
  return linear(attention(query, key, value, options), weights.to_out);
}

at::Tensor feed_forward(const at::Tensor* first, const at::Tensor& input) {
  return linear(gelu_tanh(linear(input, {first[0], first[1]})), {first[2], first[3]});
}

}  // namespace

at::Tensor wan_block(const WanConfig& config, const AttentionOptions& options,
                     const BlockViews& views, const WanConditioning& conditioning,
                     const at::Tensor& hidden, const BlockTap& tap) {
  const at::Tensor* weights = views.tensors.data();
  // Rows of the table: shift, scale and gate of the self-attention, then of the feed-forward.
  const at::Tensor table =
      widen(weights[at_index::kScaleShiftTable]).unsqueeze(0) + conditioning.modulation;
  const auto row = [&table](std::int64_t index) { return table.select(2, index); };

  const at::Tensor attn1_input = modulated_norm(hidden, {row(0), row(1)}, config.eps);
  tap.see(".norm1_modulated", attn1_input);
  const at::Tensor attn1 = attend(config, options, AttentionWeights(weights + at_index::kAttn1),
                                  attn1_input, attn1_input, &conditioning.rope);
  tap.see(".attn1", attn1);
  const at::Tensor after_attn1 = add_gated(hidden, attn1, row(2));

  const at::Tensor* norm2 = weights + at_index::kNorm2;
  const at::Tensor attn2_input = config.cross_attn_norm
                                     ? layer_norm(after_attn1, {norm2[0], norm2[1]}, config.eps)
                                     : after_attn1;
  const at::Tensor attn2 = attend(config, options, AttentionWeights(weights + at_index::kAttn2),
                                  attn2_input, conditioning.text, nullptr);
  tap.see(".attn2", attn2);
  const at::Tensor after_attn2 = after_attn1.add_(attn2);

  const at::Tensor* ffn =
      weights + (config.cross_attn_norm ? at_index::kFfnWithNorm2 : at_index::kNorm2);
  const at::Tensor ffn_out =
      feed_forward(ffn, modulated_norm(after_attn2, {row(3), row(4)}, config.eps));
  tap.see(".ffn", ffn_out);
  at::Tensor out = add_gated(after_attn2, ffn_out, row(5));
  tap.see("", out);
  return out;
}

}  // namespace dlo::model
