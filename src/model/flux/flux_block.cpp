#include "model/flux/flux_block.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include <cstdint>
#include <vector>

namespace dlo::model {

namespace {

// Rows of one modulation, fp32, each [batch, 1, hidden].
class ModulationRows {
 public:
  ModulationRows(const at::Tensor& embedding, const LinearWeights& weights, std::int64_t count)
      : rows_(widen(linear(embedding, weights)).unsqueeze(1).chunk(count, -1)) {}

  [[nodiscard]] const at::Tensor& operator[](std::size_t row) const { return rows_[row]; }

 private:
  std::vector<at::Tensor> rows_;
};

// Query, key and value by head, norms applied: [batch, tokens, heads, head_dim].
Qkv split_and_norm(const FluxConfig& config, const Qkv& projected, const at::Tensor& norm_q,
                   const at::Tensor& norm_k) {
  const std::int64_t heads = config.num_attention_heads;
  return {rms_norm(split_heads(projected.query, heads), norm_q, kFluxEps),
          rms_norm(split_heads(projected.key, heads), norm_k, kFluxEps),
          split_heads(projected.value, heads)};
}

at::Tensor attend(const FluxArithmetic& arithmetic, const FluxConditioning& conditioning,
                  const Qkv& heads) {
  return attention(apply_rope(heads.query, conditioning.rope),
                   apply_rope(heads.key, conditioning.rope), heads.value, arithmetic.attention);
}

// Norms and projections of one stream, as its table entries stand.
Qkv stream_heads(const FluxConfig& config, const FluxArithmetic& arithmetic, WeightCursor& weights,
                 const at::Tensor& input) {
  const at::Tensor& norm_q = weights.tensor();
  const at::Tensor& norm_k = weights.tensor();
  return split_and_norm(config, project_qkv(weights, input, arithmetic.fused_projections), norm_q,
                        norm_k);
}

Qkv joined(const Qkv& text, const Qkv& image) {
  return {at::cat({text.query, image.query}, 1), at::cat({text.key, image.key}, 1),
          at::cat({text.value, image.value}, 1)};
}

// Positions of shift, scale and gate among six modulation rows.
enum : std::size_t { kShift, kScale, kGate, kMlpShift, kMlpScale, kMlpGate };

}  // namespace

FluxStreams flux_dual_block(const FluxConfig& config, const FluxArithmetic& arithmetic,
                            const BlockViews& views, const FluxConditioning& conditioning,
                            const FluxStreams& streams, const TapView& tap) {
  WeightCursor weights(views);
  const ModulationRows image_rows(conditioning.embedding, weights.linear(), 6);
  const ModulationRows text_rows(conditioning.embedding, weights.linear(), 6);
  const Qkv image_heads = stream_heads(
      config, arithmetic, weights,
      modulated_norm(streams.image, {image_rows[kShift], image_rows[kScale]}, kFluxEps));
  const LinearWeights to_out = weights.linear();
  const Qkv text_heads =
      stream_heads(config, arithmetic, weights,
                   modulated_norm(streams.text, {text_rows[kShift], text_rows[kScale]}, kFluxEps));
  const LinearWeights to_add_out = weights.linear();

  const at::Tensor both = attend(arithmetic, conditioning, joined(text_heads, image_heads));
  const std::int64_t text_tokens = streams.text.size(1);
  const at::Tensor text_attn = linear(both.narrow(1, 0, text_tokens), to_add_out);
  const at::Tensor image_attn =
      linear(both.narrow(1, text_tokens, both.size(1) - text_tokens), to_out);
  tap.see(".attn.image", image_attn);
  tap.see(".attn.text", text_attn);

  const at::Tensor image = add_gated(streams.image, image_attn, image_rows[kGate]);
  const at::Tensor image_ff = gelu_feed_forward(
      weights, modulated_norm(image, {image_rows[kMlpShift], image_rows[kMlpScale]}, kFluxEps));
  tap.see(".ff", image_ff);
  const at::Tensor text = add_gated(streams.text, text_attn, text_rows[kGate]);
  const at::Tensor text_ff = gelu_feed_forward(
      weights, modulated_norm(text, {text_rows[kMlpShift], text_rows[kMlpScale]}, kFluxEps));
  tap.see(".ff_context", text_ff);

  FluxStreams out{add_gated(text, text_ff, text_rows[kMlpGate]),
                  add_gated(image, image_ff, image_rows[kMlpGate])};
  tap.see(".text", out.text);
  tap.see(".image", out.image);
  return out;
}

at::Tensor flux_single_block(const FluxConfig& config, const FluxArithmetic& arithmetic,
                             const BlockViews& views, const FluxConditioning& conditioning,
                             const at::Tensor& hidden, const TapView& tap) {
  WeightCursor weights(views);
  const ModulationRows rows(conditioning.embedding, weights.linear(), 3);
  const at::Tensor normed = modulated_norm(hidden, {rows[kShift], rows[kScale]}, kFluxEps);
  const at::Tensor mlp = gelu_tanh(linear(normed, weights.linear()));
  const LinearWeights proj_out = weights.linear();
  const at::Tensor attn =
      attend(arithmetic, conditioning, stream_heads(config, arithmetic, weights, normed));
  tap.see(".attn", attn);
  const at::Tensor joint = at::cat({attn, mlp}, -1);
  tap.see(".proj_out_input", joint);
  return add_gated(hidden, linear(joint, proj_out), rows[kGate]);
}

}  // namespace dlo::model
