#include "model/wan/wan_config.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "base/json.h"
#include "model/config_fields.h"

namespace dlo::model {

namespace {

using Json = nlohmann::json;

constexpr const char* kAction = "use a Wan 2.1 or 2.2 text-to-video checkpoint";

std::optional<Refusal> read_sizes(const Json& config, WanConfig& out) {
  out.out_channels = 0;
  if (auto refusal = read_integers(config, {{"num_attention_heads", &out.num_attention_heads},
                                            {"attention_head_dim", &out.attention_head_dim},
                                            {"in_channels", &out.in_channels},
                                            {"out_channels", &out.out_channels},
                                            {"text_dim", &out.text_dim},
                                            {"freq_dim", &out.freq_dim},
                                            {"ffn_dim", &out.ffn_dim},
                                            {"num_layers", &out.num_layers},
                                            {"rope_max_seq_len", &out.rope_max_seq_len}})) {
    return refusal;
  }
  if (out.out_channels == 0) {  // diffusers: null means as many as come in
    out.out_channels = config.contains("out_channels") ? out.in_channels : WanConfig{}.out_channels;
  }
  return read_triple(config, "patch_size", out.patch_size);
}

std::optional<Refusal> read_norms(const Json& config, WanConfig& out) {
  if (auto refusal = read_positive(config, "eps", out.eps)) {
    return refusal;
  }
  if (auto refusal = read_flag(config, "cross_attn_norm", out.cross_attn_norm)) {
    return refusal;
  }
  const auto qk_norm = config.find("qk_norm");
  if (qk_norm != config.end() && *qk_norm != "rms_norm_across_heads") {
    return unsupported_config(
        fmt::format("qk_norm {} is not supported, only rms_norm_across_heads", qk_norm->dump()),
        kAction);
  }
  return std::nullopt;
}

std::optional<Refusal> check_supported(const Json& config, const WanConfig& parsed) {
  for (const char* name : {"image_dim", "added_kv_proj_dim", "pos_embed_seq_len"}) {
    if (const auto field = config.find(name); field != config.end() && !field->is_null()) {
      return unsupported_config(fmt::format("'{}' asks for image conditioning", name), kAction);
    }
  }
  if (parsed.attention_head_dim % 2 != 0 || parsed.attention_head_dim < 6) {
    return bad_config_field("attention_head_dim", "even and at least 6 (three rotated axes)");
  }
  if (parsed.freq_dim % 2 != 0) {
    return bad_config_field("freq_dim", "even");
  }
  return std::nullopt;
}

}  // namespace

Result<WanConfig> parse_wan_config(const Json& config) {
  if (auto refusal = check_class(config, "WanTransformer3DModel", kAction)) {
    return *refusal;
  }
  WanConfig out;
  for (const auto read_part : {read_sizes, read_norms}) {
    if (auto refusal = read_part(config, out)) {
      return *refusal;
    }
  }
  if (auto refusal = check_supported(config, out)) {
    return *refusal;
  }
  return out;
}

}  // namespace dlo::model
