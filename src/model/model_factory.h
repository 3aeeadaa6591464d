// Owns: making the DitModel of each family from its config.json: parameter names, shapes and
// dtypes, and bindings. Must not own: weights or files. A new model holds no weight bytes; every
// block and the non-block children are at their placeholders until the backend announces places.
// Free of torch.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/dtype.h"
#include "base/result.h"
#include "model/compute_device.h"
#include "model/dit_model.h"

namespace dlo::model {

enum class AttentionBackend : std::uint8_t {
  kPlain,  // our matmul-softmax-matmul, chunked over queries: the default on every platform
  kFused,  // torch's scaled_dot_product_attention; other bytes than kPlain. By which kernel:
           // fused_attention_kernel() (model/torch_session.h)
};

struct ModelOptions {
  std::string component = "transformer";  // prefix of every runtime name
  std::int32_t ring = 0;                  // for operation labels
  ComputeDevice device;                   // of every forward; compute_device(platform device)
  DType runtime_dtype = DType::kF32;      // F32 or BF16: dtype of the weights at run time
  // With BF16: the modules that diffusers keeps in fp32 stay F32, as its _keep_in_fp32_modules.
  bool keep_fp32_modules = true;
  // Arithmetic: F32, or BF16 as diffusers runs a pipeline in it (layers.h). Weights of another
  // dtype are converted on use; operands of a forward are F32 all the same.
  DType compute_dtype = DType::kF32;
  // Query, key and value projections of one input are one tensor, under vllm-omni's names; the
  // table's load rules say how it is put together.
  bool fused_projections = false;
  AttentionBackend attention = AttentionBackend::kPlain;
  std::int64_t attention_query_chunk = 1024;  // queries a chunk of the plain attention
};

// Wan 2.1 / 2.2 T2V (diffusers WanTransformer3DModel). Refusals: checkpoint_invalid (a field is
// missing or has an impossible value), not_in_this_product (image conditioning, another class,
// another dtype).
[[nodiscard]] Result<std::unique_ptr<DitModel>> make_wan(const nlohmann::json& config,
                                                         const ModelOptions& options);

// FLUX.1 (diffusers FluxTransformer2DModel). Refusals as make_wan: not_in_this_product for patches
// of more than one token.
[[nodiscard]] Result<std::unique_ptr<DitModel>> make_flux(const nlohmann::json& config,
                                                          const ModelOptions& options);

// MiniMax-H3 under its native names (MiniMaxH3DiTModel); its token refiner has a ring of its own,
// numbered `options.ring` + 1. Refusals as make_wan.
[[nodiscard]] Result<std::unique_ptr<DitModel>> make_h3(const nlohmann::json& config,
                                                        const ModelOptions& options);

}  // namespace dlo::model
