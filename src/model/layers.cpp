#include "model/layers.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <cmath>

namespace dlo::model {

namespace {

// [batch, heads, tokens, head_dim], contiguous: what batched matrix products want.
at::Tensor heads_first(const at::Tensor& tensor) {
  return tensor.transpose(1, 2).contiguous();
}

at::Tensor plain_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                           std::int64_t query_chunk) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(query.size(3)));
  const at::Tensor scaled = query * scale;
  const at::Tensor transposed_key = key.transpose(2, 3);
  at::Tensor out = at::empty_like(query);
  for (std::int64_t start = 0; start < query.size(2); start += query_chunk) {
    const std::int64_t length = std::min(query_chunk, query.size(2) - start);
    const at::Tensor scores = at::matmul(scaled.narrow(2, start, length), transposed_key);
    out.narrow(2, start, length).copy_(at::matmul(at::softmax(scores, -1), value));
  }
  return out;
}

}  // namespace

at::Tensor widen(const at::Tensor& tensor) {
  return tensor.to(at::kFloat);
}

at::Tensor linear(const at::Tensor& input, const LinearWeights& weights) {
  return at::linear(input, widen(weights.weight), widen(weights.bias));
}

at::Tensor layer_norm(const at::Tensor& input, double eps) {
  return at::layer_norm(input, {input.size(-1)}, {}, {}, eps);
}

at::Tensor layer_norm(const at::Tensor& input, const LinearWeights& affine, double eps) {
  return at::layer_norm(input, {input.size(-1)}, widen(affine.weight), widen(affine.bias), eps);
}

at::Tensor rms_norm(const at::Tensor& input, const at::Tensor& weight, double eps) {
  const at::Tensor mean_square = (input * input).mean({-1}, /*keepdim=*/true);
  return input * at::rsqrt(mean_square + eps) * widen(weight);
}

at::Tensor modulate(const at::Tensor& normed, const at::Tensor& shift, const at::Tensor& scale) {
  return normed * (scale + 1.0) + shift;
}

at::Tensor gelu_tanh(const at::Tensor& input) {
  return at::gelu(input, "tanh");
}

at::Tensor apply_rope(const at::Tensor& input, const RopeTables& rope) {
  const at::Tensor pairs = input.unflatten(-1, {-1, 2});
  const at::Tensor even = pairs.select(-1, 0);
  const at::Tensor odd = pairs.select(-1, 1);
  return at::stack({even * rope.cos - odd * rope.sin, even * rope.sin + odd * rope.cos}, -1)
      .flatten(-2);
}

at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const AttentionOptions& options) {
  const at::Tensor q = heads_first(query);
  const at::Tensor k = heads_first(key);
  const at::Tensor v = heads_first(value);
  const at::Tensor out = options.backend == AttentionBackend::kFused
                             ? at::scaled_dot_product_attention(q, k, v)
                             : plain_attention(q, k, v, options.query_chunk);
  return out.transpose(1, 2).flatten(2);
}

at::Tensor timestep_sinusoid(const at::Tensor& timesteps, std::int64_t channels) {
  const std::int64_t half = channels / 2;
  const at::Tensor exponent =
      at::arange(half, timesteps.options()) * (-std::log(10000.0)) / static_cast<double>(half);
  const at::Tensor angles = timesteps.unsqueeze(-1) * exponent.exp();
  return at::cat({angles.cos(), angles.sin()}, -1);
}

}  // namespace dlo::model
