// Owns: FluxShape, the configuration of a FluxTransformer2DModel as plain numbers: the presets of
// this product, its form as diffusers' config.json, and its tensors as pure data.
// Must not own: files or values (seeded_checkpoint.h), or the model's arithmetic (model/flux);
// tests compare the model's table with this list. Threading: pure values and functions. Source:
// models.md 2, 4.2 and 7.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "host_weights/seeded_checkpoint/seeded_tensors.h"

namespace dlo::host_weights {

struct FluxShape {
  std::int64_t in_channels = 64;
  std::int64_t num_layers = 0;         // dual-stream blocks
  std::int64_t num_single_layers = 0;  // single-stream blocks
  std::int64_t attention_head_dim = 128;
  std::int64_t num_attention_heads = 0;
  std::int64_t joint_attention_dim = 0;
  std::int64_t pooled_projection_dim = 0;
  std::array<std::int64_t, 3> axes_dims_rope = {16, 56, 56};

  [[nodiscard]] std::int64_t hidden() const { return num_attention_heads * attention_head_dim; }
  [[nodiscard]] std::int64_t blocks() const { return num_layers + num_single_layers; }
  friend bool operator==(const FluxShape&, const FluxShape&) = default;
};

struct FluxPreset {
  std::string_view name;
  FluxShape shape;
};

// flux_tiny, flux_cpu, flux_dev; all with an embedded guidance.
[[nodiscard]] std::span<const FluxPreset> flux_presets();

// The preset cut to `blocks` in all: a third of them dual, at least one of each kind, as the
// published model has them. Codes: invalid_value for fewer than two.
[[nodiscard]] Result<FluxShape> flux_depth(const FluxShape& preset, std::int64_t blocks);

// The fields of diffusers' config.json, _class_name and _diffusers_version included.
[[nodiscard]] nlohmann::json flux_config_json(const FluxShape& shape);

// All tensors in the class's registration order.
[[nodiscard]] std::vector<SeededTensor> flux_tensors(const FluxShape& shape);

}  // namespace dlo::host_weights
