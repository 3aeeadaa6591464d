#include "model/flux/flux_config.h"

#include <fmt/format.h>

#include <optional>

#include "base/json.h"
#include "model/config_fields.h"

namespace dlo::model {

namespace {

using Json = nlohmann::json;

constexpr const char* kAction = "use a FLUX.1 checkpoint";

std::optional<Refusal> read_fields(const Json& config, FluxConfig& out) {
  std::int64_t patch_size = 1;
  out.out_channels = 0;
  if (auto refusal =
          read_integers(config, {{"patch_size", &patch_size},
                                 {"in_channels", &out.in_channels},
                                 {"out_channels", &out.out_channels},
                                 {"num_layers", &out.num_layers},
                                 {"num_single_layers", &out.num_single_layers},
                                 {"attention_head_dim", &out.attention_head_dim},
                                 {"num_attention_heads", &out.num_attention_heads},
                                 {"joint_attention_dim", &out.joint_attention_dim},
                                 {"pooled_projection_dim", &out.pooled_projection_dim}})) {
    return refusal;
  }
  if (patch_size != 1) {
    return unsupported_config(fmt::format("patch_size {} is not supported, only 1", patch_size),
                              kAction);
  }
  if (out.out_channels == 0) {  // null means as many as come in
    out.out_channels = out.in_channels;
  }
  if (auto refusal = read_flag(config, "guidance_embeds", out.guidance_embeds)) {
    return refusal;
  }
  return read_triple(config, "axes_dims_rope", out.axes_dims_rope);
}

std::optional<Refusal> check_axes(const FluxConfig& config) {
  std::int64_t channels = 0;
  for (const auto axis : config.axes_dims_rope) {
    if (axis % 2 != 0) {
      return bad_config_field("axes_dims_rope", "three even numbers");
    }
    channels += axis;
  }
  if (channels != config.attention_head_dim) {
    return bad_config_field("axes_dims_rope",
                            fmt::format("three numbers that add up to the head's {} channels",
                                        config.attention_head_dim));
  }
  return std::nullopt;
}

}  // namespace

Result<FluxConfig> parse_flux_config(const Json& config) {
  if (auto refusal = check_class(config, "FluxTransformer2DModel", kAction)) {
    return *refusal;
  }
  FluxConfig out;
  if (auto refusal = read_fields(config, out)) {
    return *refusal;
  }
  if (auto refusal = check_axes(out)) {
    return *refusal;
  }
  return out;
}

}  // namespace dlo::model
