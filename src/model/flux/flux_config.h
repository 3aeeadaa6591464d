// Owns: FluxConfig, the constructor fields of diffusers' FluxTransformer2DModel, read from
// config.json with that class's defaults.
// Must not own: parameters or arithmetic. Free of torch. Source: models.md 4.2.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace dlo::model {

struct FluxConfig {
  std::int64_t in_channels = 64;        // of a token: latent channels times the 2 x 2 patch
  std::int64_t out_channels = 64;       // of a token
  std::int64_t num_layers = 19;         // dual-stream blocks
  std::int64_t num_single_layers = 38;  // single-stream blocks
  std::int64_t attention_head_dim = 128;
  std::int64_t num_attention_heads = 24;
  std::int64_t joint_attention_dim = 4096;  // of the text states
  std::int64_t pooled_projection_dim = 768;
  bool guidance_embeds = false;
  std::array<std::int64_t, 3> axes_dims_rope = {16, 56, 56};  // text index, row, column

  [[nodiscard]] std::int64_t hidden() const { return num_attention_heads * attention_head_dim; }
  [[nodiscard]] std::int64_t mlp_hidden() const { return 4 * hidden(); }
};

// Channels of the sinusoid of timestep and guidance: fixed by the class.
inline constexpr std::int64_t kFluxTimeChannels = 256;
// Epsilon of every norm: fixed by the class.
inline constexpr double kFluxEps = 1e-6;

// Refusals: checkpoint_invalid (a field of the wrong kind or an impossible value, axes that do not
// add up to a head), not_in_this_product (patches of more than one token, another class).
[[nodiscard]] Result<FluxConfig> parse_flux_config(const nlohmann::json& config);

}  // namespace dlo::model
