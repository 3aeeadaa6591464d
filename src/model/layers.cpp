#include "model/layers.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/view_as_complex.h>

#include <algorithm>
#include <cmath>

namespace dlo::model {

namespace {

// Over the last dimension, in fp32 and left so; without the affine part when it is undefined.
at::Tensor wide_norm(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                     double eps) {
  return at::layer_norm(widen(input), {input.size(-1)}, weight, bias, eps);
}

// [batch, heads, tokens, head_dim] in fp32, contiguous: what batched matrix products want.
at::Tensor heads_first(const at::Tensor& tensor) {
  return widen(tensor).transpose(1, 2).contiguous();
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

at::Tensor as_dtype(const at::Tensor& tensor, at::ScalarType dtype) {
  return tensor.scalar_type() == dtype ? tensor : tensor.to(dtype);
}

at::Tensor widen(const at::Tensor& tensor) {
  return as_dtype(tensor, at::kFloat);
}

at::Tensor linear(const at::Tensor& input, const LinearWeights& weights) {
  const at::ScalarType dtype = input.scalar_type();
  return at::linear(input, as_dtype(weights.weight, dtype), as_dtype(weights.bias, dtype));
}

at::Tensor project(const at::Tensor& input, const at::Tensor& weight) {
  return at::linear(input, as_dtype(weight, input.scalar_type()));
}

at::Tensor layer_norm(const at::Tensor& input, const LinearWeights& affine, double eps) {
  return as_dtype(wide_norm(input, widen(affine.weight), widen(affine.bias), eps),
                  input.scalar_type());
}

at::Tensor modulated_norm(const at::Tensor& input, const Modulation& modulation, double eps) {
  const at::Tensor gain = modulation.scale + 1.0;
  at::Tensor normed;
  if (input.scalar_type() != at::kFloat && gain.numel() == input.size(-1)) {
    // One row for all tokens is an affine part: one kernel instead of three.
    normed = wide_norm(input, gain.view({-1}), modulation.shift.view({-1}), eps);
  } else {
    normed = wide_norm(input, {}, {}, eps).mul_(gain).add_(modulation.shift);
  }
  return as_dtype(normed, input.scalar_type());
}

at::Tensor add_gated(const at::Tensor& residual, const at::Tensor& update, const at::Tensor& gate) {
  if (residual.scalar_type() == at::kFloat) {
    return residual + update * gate;
  }
  return residual.addcmul_(update, gate);  // promoted to fp32 inside the kernel
}

at::Tensor rms_norm(const at::Tensor& input, const at::Tensor& weight, double eps) {
  if (input.scalar_type() != at::kFloat) {
    return at::rms_norm(input, {input.size(-1)}, as_dtype(weight, input.scalar_type()), eps);
  }
  const at::Tensor mean_square = (input * input).mean({-1}, /*keepdim=*/true);
  return input * at::rsqrt(mean_square + eps) * widen(weight);
}

at::Tensor gelu_tanh(at::Tensor input) {
  return at::gelu_(input, "tanh");
}

at::Tensor apply_rope(const at::Tensor& input, const RopeTables& rope) {
  if (input.scalar_type() != at::kFloat) {
    const at::Tensor turned = widen(input);
    at::view_as_complex(turned.unflatten(-1, {-1, 2})).mul_(rope.turn);
    return turned.to(input.scalar_type());
  }
  const at::Tensor pairs = input.unflatten(-1, {-1, 2});
  const at::Tensor even = pairs.select(-1, 0);
  const at::Tensor odd = pairs.select(-1, 1);
  return at::stack({even * rope.cos - odd * rope.sin, even * rope.sin + odd * rope.cos}, -1)
      .flatten(-2);
}

at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const AttentionOptions& options) {
  if (options.backend == AttentionBackend::kFused) {
    return at::scaled_dot_product_attention(query.transpose(1, 2), key.transpose(1, 2),
                                            value.transpose(1, 2))
        .transpose(1, 2)
        .flatten(2);
  }
  const at::Tensor out =
      plain_attention(heads_first(query), heads_first(key), heads_first(value), options.query_chunk)
          .transpose(1, 2)
          .flatten(2);
  return as_dtype(out, query.scalar_type());
}

at::Tensor timestep_sinusoid(const at::Tensor& timesteps, std::int64_t channels) {
  const std::int64_t half = channels / 2;
  const at::Tensor exponent =
      at::arange(half, timesteps.options()) * (-std::log(10000.0)) / static_cast<double>(half);
  const at::Tensor angles = timesteps.unsqueeze(-1) * exponent.exp();
  return at::cat({angles.cos(), angles.sin()}, -1);
}

}  // namespace dlo::model
