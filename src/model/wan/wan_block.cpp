#include "model/wan/wan_block.h"

#include <ATen/TensorOperators.h>

#include <cstddef>

namespace dlo::model {

namespace {

// Table, two attentions of ten tensors each; fused projections are two tensors in place of six.
std::size_t norm2_position(bool fused_projections) {
  return fused_projections ? 17 : 21;
}

// Reads what an attention's table entries end with. `rope` is null in the cross-attention.
at::Tensor attend(const WanConfig& config, const AttentionOptions& options, const Qkv& projected,
                  WeightCursor& weights, const RopeTables* rope) {
  const LinearWeights to_out = weights.linear();
  // The statistic of these norms runs over all heads together.
  at::Tensor query = split_heads(rms_norm(projected.query, weights.tensor(), config.eps),
                                 config.num_attention_heads);
  at::Tensor key = split_heads(rms_norm(projected.key, weights.tensor(), config.eps),
                               config.num_attention_heads);
  const at::Tensor value = split_heads(projected.value, config.num_attention_heads);
  if (rope != nullptr) {
    query = apply_rope(query, *rope);
    key = apply_rope(key, *rope);
  }
  return linear(attention(query, key, value, options), to_out);
}

// Queries of `input`, keys and values of `context`.
Qkv project_across(WeightCursor& weights, const at::Tensor& input, const at::Tensor& context) {
  Qkv out;
  out.query = linear(input, weights.linear());
  out.key = linear(context, weights.linear());
  out.value = linear(context, weights.linear());
  return out;
}

}  // namespace

at::Tensor wan_block(const WanConfig& config, const WanArithmetic& arithmetic,
                     const BlockViews& views, const WanConditioning& conditioning,
                     const at::Tensor& hidden, const TapView& tap) {
  WeightCursor weights(views);
  // Rows of the table: shift, scale and gate of the self-attention, then of the feed-forward.
  const at::Tensor table = widen(weights.tensor()).unsqueeze(0) + conditioning.modulation;
  const auto row = [&table](std::int64_t index) { return table.select(2, index); };

  const at::Tensor attn1_input = modulated_norm(hidden, {row(0), row(1)}, config.eps);
  tap.see(".norm1_modulated", attn1_input);
  const Qkv self = project_qkv(weights, attn1_input, arithmetic.fused_projections);
  const at::Tensor attn1 = attend(config, arithmetic.attention, self, weights, &conditioning.rope);
  tap.see(".attn1", attn1);
  const at::Tensor after_attn1 = add_gated(hidden, attn1, row(2));

  // The norm before the cross-attention stands behind it in the table.
  const at::Tensor* norm2 = views.tensors.data() + norm2_position(arithmetic.fused_projections);
  const at::Tensor attn2_input = config.cross_attn_norm
                                     ? layer_norm(after_attn1, {norm2[0], norm2[1]}, config.eps)
                                     : after_attn1;
  const Qkv across = project_across(weights, attn2_input, conditioning.text);
  const at::Tensor attn2 = attend(config, arithmetic.attention, across, weights, nullptr);
  tap.see(".attn2", attn2);
  const at::Tensor after_attn2 = after_attn1.add_(attn2);

  if (config.cross_attn_norm) {
    static_cast<void>(weights.linear());  // norm2
  }
  const at::Tensor ffn_out =
      gelu_feed_forward(weights, modulated_norm(after_attn2, {row(3), row(4)}, config.eps));
  tap.see(".ffn", ffn_out);
  at::Tensor out = add_gated(after_attn2, ffn_out, row(5));
  tap.see("", out);
  return out;
}

}  // namespace dlo::model
