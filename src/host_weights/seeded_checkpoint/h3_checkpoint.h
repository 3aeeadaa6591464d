// Owns: H3Shape, the configuration of MiniMax-H3's transformer in its native layout as plain
// numbers: the presets of this product, its form as the original's config.json, and its tensors as
// pure data.
// Must not own: files or values (seeded_checkpoint.h), or the model's arithmetic
// (model/minimax_h3); tests compare the model's table with this list. Threading: pure values and
// functions. Source: models.md 2, 4.3 and 7.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "host_weights/seeded_checkpoint/seeded_tensors.h"

namespace dlo::host_weights {

// Defaults are the published values.
struct H3Shape {
  std::int64_t hidden_size = 5376;
  std::int64_t num_layers = 50;
  std::int64_t num_refiner_layers = 2;
  std::int64_t num_attention_heads = 56;
  std::int64_t attention_head_dim = 128;
  std::int64_t ffn_dim = 14336;
  std::int64_t in_channels = 24;
  std::int64_t audio_channels = 32;
  std::array<std::int64_t, 3> patch_size = {1, 2, 2};
  std::int64_t text_dim = 5120;
  std::int64_t freq_dim = 256;
  std::int64_t time_hidden_dim = 5376;
  std::int64_t time_dim = 2688;
  std::int64_t rope_frequencies = 16;

  [[nodiscard]] std::int64_t inner() const { return num_attention_heads * attention_head_dim; }
  [[nodiscard]] std::int64_t video_channels() const {
    return in_channels * patch_size[0] * patch_size[1] * patch_size[2];
  }
  friend bool operator==(const H3Shape&, const H3Shape&) = default;
};

struct H3Preset {
  std::string_view name;
  H3Shape shape;
};

// h3_tiny, h3_cpu, h3_16 (16 of 50 blocks), h3_full.
[[nodiscard]] std::span<const H3Preset> h3_presets();

// The fields of the original's config.json, _class_name included.
[[nodiscard]] nlohmann::json h3_config_json(const H3Shape& shape);

// All tensors in the order of the golden list: q, k and v rows are stored head by head.
[[nodiscard]] std::vector<SeededTensor> h3_tensors(const H3Shape& shape);

}  // namespace dlo::host_weights
