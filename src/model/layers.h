// Owns: the layers that diffusion transformers share: linear, norms, modulation, rotation,
// attention, timestep sinusoid. Arithmetic is fp32; weights of another dtype are widened on use.
// Must not own: parameters or launch order. Pure functions, called inside compute-stream tasks
// under c10::InferenceMode.
// RMS norm and plain attention are written here once, so that bytes do not hang on which fused
// kernels a torch build has (models.md section 6).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "model/model_factory.h"

namespace dlo::model {

struct LinearWeights {
  const at::Tensor& weight;  // [out, in]
  const at::Tensor& bias;    // [out]
};

// `tensor` as fp32; no copy when it is that already.
[[nodiscard]] at::Tensor widen(const at::Tensor& tensor);

[[nodiscard]] at::Tensor linear(const at::Tensor& input, const LinearWeights& weights);

// Over the last dimension; without and with an affine part.
[[nodiscard]] at::Tensor layer_norm(const at::Tensor& input, double eps);
[[nodiscard]] at::Tensor layer_norm(const at::Tensor& input, const LinearWeights& affine,
                                    double eps);

// x / sqrt(mean(x^2) + eps) * weight over the last dimension.
[[nodiscard]] at::Tensor rms_norm(const at::Tensor& input, const at::Tensor& weight, double eps);

// normed * (1 + scale) + shift.
[[nodiscard]] at::Tensor modulate(const at::Tensor& normed, const at::Tensor& shift,
                                  const at::Tensor& scale);

[[nodiscard]] at::Tensor gelu_tanh(const at::Tensor& input);

// Rotation angles per token and channel pair; heads broadcast.
struct RopeTables {
  at::Tensor cos;  // [tokens, 1, head_dim / 2]
  at::Tensor sin;
};

// Rotates the interleaved pairs (2i, 2i + 1) of `input` [batch, tokens, heads, head_dim].
[[nodiscard]] at::Tensor apply_rope(const at::Tensor& input, const RopeTables& rope);

struct AttentionOptions {
  AttentionBackend backend = AttentionBackend::kPlain;
  std::int64_t query_chunk = 1024;
};

// softmax(q k^T / sqrt(head_dim)) v over [batch, tokens, heads, head_dim]; returns
// [batch, query tokens, heads * head_dim]. The plain backend holds the scores of one chunk of
// queries at a time.
[[nodiscard]] at::Tensor attention(const at::Tensor& query, const at::Tensor& key,
                                   const at::Tensor& value, const AttentionOptions& options);

// [cos | sin] of t * 10000^(-i / half), i = 0 ... half - 1, half = channels / 2. `timesteps` has
// any shape; the result appends one dimension of `channels`.
[[nodiscard]] at::Tensor timestep_sinusoid(const at::Tensor& timesteps, std::int64_t channels);

}  // namespace dlo::model
