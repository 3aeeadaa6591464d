// Owns: H3Config, the fields of the original MiniMax-H3 transformer's config.json, read with the
// published values as defaults.
// Must not own: parameters or arithmetic. Free of torch. Source: models.md 4.3.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace dlo::model {

// Kinds of rows of the packed sequence; a row's modulation is picked by its timestep and its kind.
inline constexpr std::int64_t kH3Modalities = 3;

struct H3Config {
  std::int64_t hidden_size = 5376;
  std::int64_t num_layers = 50;
  std::int64_t num_refiner_layers = 2;  // token_refiner_num_layers
  std::int64_t num_attention_heads = 56;
  std::int64_t attention_head_dim = 128;
  std::int64_t ffn_dim = 14336;      // ffn_hidden_size
  std::int64_t in_channels = 24;     // latents_dim
  std::int64_t audio_channels = 32;  // audio_latents_dim
  std::array<std::int64_t, 3> patch_size = {1, 2, 2};
  std::int64_t text_dim = 5120;
  std::int64_t freq_dim = 256;          // timestep_input_dim
  std::int64_t time_hidden_dim = 5376;  // time_embed_hidden_size
  std::int64_t time_dim = 2688;         // time_embed_dim
  std::int64_t rope_frequencies = 16;   // rope_inv_freq_len, for each of three axes
  double norm_eps = 1e-5;
  double qk_norm_eps = 1e-5;
  double final_norm_eps = 1e-5;

  // All heads together; not the hidden size.
  [[nodiscard]] std::int64_t inner() const { return num_attention_heads * attention_head_dim; }
  // Channels of one row of video.
  [[nodiscard]] std::int64_t video_channels() const {
    return in_channels * patch_size[0] * patch_size[1] * patch_size[2];
  }
};

// Refusals: checkpoint_invalid (a field of the wrong kind, sizes that contradict each other),
// not_in_this_product (another class).
[[nodiscard]] Result<H3Config> parse_h3_config(const nlohmann::json& config);

}  // namespace dlo::model
