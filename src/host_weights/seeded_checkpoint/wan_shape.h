// Owns: WanShape, the configuration of a WanTransformer3DModel as plain numbers: the presets of
// this product, and its form as diffusers' config.json in both directions.
// Must not own: tensors (wan_tensors.h), files, or the model's arithmetic (model/wan).
// Threading: pure values and functions. Source: models.md 2, 4.1 and 7.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace dlo::host_weights {

struct WanShape {
  std::array<std::int64_t, 3> patch_size = {1, 2, 2};
  std::int64_t num_attention_heads = 0;
  std::int64_t attention_head_dim = 0;
  std::int64_t in_channels = 16;
  std::int64_t out_channels = 16;
  std::int64_t text_dim = 0;
  std::int64_t freq_dim = 256;
  std::int64_t ffn_dim = 0;
  std::int64_t num_layers = 0;  // blocks
  std::int64_t rope_max_seq_len = 1024;
  double eps = 1e-6;

  [[nodiscard]] std::int64_t hidden() const { return num_attention_heads * attention_head_dim; }
  [[nodiscard]] std::int64_t patch_elements() const {
    return patch_size[0] * patch_size[1] * patch_size[2];
  }
  friend bool operator==(const WanShape&, const WanShape&) = default;
};

struct WanPreset {
  std::string_view name;
  WanShape shape;
  double flow_shift;  // of the scheduler: 3.0 for 480p, 5.0 for 720p
};

// wan_tiny, wan_cpu, wan_1_3b, wan_14b.
[[nodiscard]] std::span<const WanPreset> wan_presets();

// Codes: invalid_value, with the nearest name.
[[nodiscard]] Result<WanPreset> wan_preset(std::string_view name);

// The fields of diffusers' config.json, _class_name and _diffusers_version included.
[[nodiscard]] nlohmann::json wan_config_json(const WanShape& shape);

// Inverse of wan_config_json. Codes: checkpoint_invalid (missing field, wrong type, odd head size),
// not_in_this_product (image conditioning, no cross-attention norm, another q/k norm).
[[nodiscard]] Result<WanShape> parse_wan_config(const nlohmann::json& config,
                                                std::string_view where);

}  // namespace dlo::host_weights
