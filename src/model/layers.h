// Owns: the layers that diffusion transformers share: linear, norms, modulation, rotation,
// attention, timestep sinusoid.
// Must not own: parameters or launch order. Called inside compute-stream tasks under
// c10::InferenceMode; none waits for the device.
//
// Arithmetic is that of the input: F32, or BF16 mixed as diffusers mixes it (products in BF16;
// statistics, modulation, rotation and gated sums in fp32, rounded once). Weights of another dtype
// are converted on use. In F32, RMS norm and plain attention are written here, so that bytes do not
// hang on which fused kernels a torch build has (models.md section 6); BF16 takes torch's kernels
// and as few of them as give the same roundings.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "model/model_factory.h"

namespace dlo::model {

struct LinearWeights {
  const at::Tensor& weight;  // [out, in]
  const at::Tensor& bias;    // [out]
};

// `tensor` as `dtype`, or as fp32; no copy when it is that already.
[[nodiscard]] at::Tensor as_dtype(const at::Tensor& tensor, at::ScalarType dtype);
[[nodiscard]] at::Tensor widen(const at::Tensor& tensor);

[[nodiscard]] at::Tensor linear(const at::Tensor& input, const LinearWeights& weights);

// A linear layer without a bias; `weight` is [out, in].
[[nodiscard]] at::Tensor project(const at::Tensor& input, const at::Tensor& weight);

// Over the last dimension, with an affine part.
[[nodiscard]] at::Tensor layer_norm(const at::Tensor& input, const LinearWeights& affine,
                                    double eps);

// fp32; broadcast over the input they modulate.
struct Modulation {
  at::Tensor shift;
  at::Tensor scale;
};

// layer_norm(input) * (1 + scale) + shift, without an affine part of its own.
[[nodiscard]] at::Tensor modulated_norm(const at::Tensor& input, const Modulation& modulation,
                                        double eps);

// residual + update * gate with an fp32 gate. BF16: written into `residual`.
[[nodiscard]] at::Tensor add_gated(const at::Tensor& residual, const at::Tensor& update,
                                   const at::Tensor& gate);

// x / sqrt(mean(x^2) + eps) * weight over the last dimension.
[[nodiscard]] at::Tensor rms_norm(const at::Tensor& input, const at::Tensor& weight, double eps);

// In place.
[[nodiscard]] at::Tensor gelu_tanh(at::Tensor input);

// Rotation angles per token and channel pair, fp32; heads broadcast.
struct RopeTables {
  at::Tensor cos;  // [tokens, 1, head_dim / 2]
  at::Tensor sin;
  at::Tensor turn;  // cos + i sin
};

// Rotates the interleaved pairs (2i, 2i + 1) of `input` [batch, tokens, heads, head_dim].
[[nodiscard]] at::Tensor apply_rope(const at::Tensor& input, const RopeTables& rope);

struct AttentionOptions {
  AttentionBackend backend = AttentionBackend::kPlain;
  std::int64_t query_chunk = 1024;
};

// softmax(q k^T / sqrt(head_dim)) v over [batch, tokens, heads, head_dim]; returns
// [batch, query tokens, heads * head_dim]. The plain backend computes in fp32 and holds the scores
// of one chunk of queries at a time; the fused one reads its operands where they are.
[[nodiscard]] at::Tensor attention(const at::Tensor& query, const at::Tensor& key,
                                   const at::Tensor& value, const AttentionOptions& options);

// [cos | sin] of t * 10000^(-i / half), i = 0 ... half - 1, half = channels / 2. `timesteps` has
// any shape; the result appends one dimension of `channels`.
[[nodiscard]] at::Tensor timestep_sinusoid(const at::Tensor& timesteps, std::int64_t channels);

}  // namespace dlo::model
