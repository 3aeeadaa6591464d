#include "model/minimax_h3/h3_config.h"

#include <fmt/format.h>

#include <optional>

#include "base/json.h"
#include "model/config_fields.h"

namespace dlo::model {

namespace {

using Json = nlohmann::json;

std::optional<Refusal> read_fields(const Json& config, H3Config& out) {
  if (auto refusal = read_integers(config, {{"hidden_size", &out.hidden_size},
                                            {"num_layers", &out.num_layers},
                                            {"token_refiner_num_layers", &out.num_refiner_layers},
                                            {"num_attention_heads", &out.num_attention_heads},
                                            {"attention_head_dim", &out.attention_head_dim},
                                            {"ffn_hidden_size", &out.ffn_dim},
                                            {"latents_dim", &out.in_channels},
                                            {"audio_latents_dim", &out.audio_channels},
                                            {"text_dim", &out.text_dim},
                                            {"timestep_input_dim", &out.freq_dim},
                                            {"time_embed_hidden_size", &out.time_hidden_dim},
                                            {"time_embed_dim", &out.time_dim},
                                            {"rope_inv_freq_len", &out.rope_frequencies}})) {
    return refusal;
  }
  const struct {
    const char* name;
    double* value;
  } epsilons[] = {{"norm_eps", &out.norm_eps},
                  {"qk_norm_eps", &out.qk_norm_eps},
                  {"final_norm_eps", &out.final_norm_eps}};
  for (const auto& [name, value] : epsilons) {
    if (auto refusal = read_positive(config, name, *value)) {
      return refusal;
    }
  }
  return read_triple(config, "patch_size", out.patch_size);
}

// Fields that the original states beside those that they follow from.
std::optional<Refusal> check_derived(const Json& config, const H3Config& parsed) {
  std::int64_t adaln = 6 * kH3Modalities * parsed.hidden_size;
  std::int64_t final_adaln = 2 * parsed.hidden_size;
  const std::int64_t wanted = adaln;
  const std::int64_t final_wanted = final_adaln;
  if (auto refusal = read_integers(
          config, {{"adaln_out_features", &adaln}, {"final_adaln_out_features", &final_adaln}})) {
    return refusal;
  }
  if (adaln != wanted) {
    return bad_config_field("adaln_out_features", fmt::format("18 hidden sizes, {}", wanted));
  }
  if (final_adaln != final_wanted) {
    return bad_config_field("final_adaln_out_features",
                            fmt::format("2 hidden sizes, {}", final_wanted));
  }
  if (parsed.freq_dim % 2 != 0) {
    return bad_config_field("timestep_input_dim", "even");
  }
  if (parsed.attention_head_dim < 6 * parsed.rope_frequencies) {
    return bad_config_field(
        "rope_inv_freq_len",
        fmt::format("at most a sixth of a head's {} channels", parsed.attention_head_dim));
  }
  return std::nullopt;
}

}  // namespace

Result<H3Config> parse_h3_config(const Json& config) {
  if (auto refusal = check_class(config, "MiniMaxH3DiTModel",
                                 "use a MiniMax-H3 checkpoint in its native layout")) {
    return *refusal;
  }
  H3Config out;
  if (auto refusal = read_fields(config, out)) {
    return *refusal;
  }
  if (auto refusal = check_derived(config, out)) {
    return *refusal;
  }
  return out;
}

}  // namespace dlo::model
