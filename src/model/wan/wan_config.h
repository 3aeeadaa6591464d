// Owns: WanConfig, the constructor fields of diffusers' WanTransformer3DModel that this product
// supports, read from config.json with that class's defaults.
// Must not own: parameters or arithmetic. Free of torch. Source: models.md 4.1.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace dlo::model {

struct WanConfig {
  std::array<std::int64_t, 3> patch_size = {1, 2, 2};  // frames, height, width
  std::int64_t num_attention_heads = 40;
  std::int64_t attention_head_dim = 128;
  std::int64_t in_channels = 16;
  std::int64_t out_channels = 16;
  std::int64_t text_dim = 4096;
  std::int64_t freq_dim = 256;
  std::int64_t ffn_dim = 13824;
  std::int64_t num_layers = 40;
  std::int64_t rope_max_seq_len = 1024;
  bool cross_attn_norm = true;  // false: no norm before the cross-attention
  double eps = 1e-6;

  [[nodiscard]] std::int64_t hidden() const { return num_attention_heads * attention_head_dim; }
  [[nodiscard]] std::int64_t patch_volume() const {
    return patch_size[0] * patch_size[1] * patch_size[2];
  }
};

// Refusals: checkpoint_invalid (a field of the wrong kind or an impossible value),
// not_in_this_product (image conditioning, learned positions, another norm, another class).
[[nodiscard]] Result<WanConfig> parse_wan_config(const nlohmann::json& config);

}  // namespace dlo::model
