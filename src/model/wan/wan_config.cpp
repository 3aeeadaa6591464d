#include "model/wan/wan_config.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "base/codes.h"
#include "base/json.h"

namespace dlo::model {

namespace {

using Json = nlohmann::json;

constexpr const char* kWhere = "transformer config.json";

Refusal bad_field(const std::string& name, const std::string& wanted) {
  return refuse(codes::kCheckpointInvalid, fmt::format("'{}' must be {}", name, wanted), kWhere,
                "use the config.json that belongs to the checkpoint");
}

Refusal unsupported(const std::string& what) {
  return refuse(codes::kNotInThisProduct, what, kWhere,
                "use a Wan 2.1 or 2.2 text-to-video checkpoint");
}

// Reads a positive integer; a missing or null field keeps its default.
std::optional<Refusal> read(const Json& config, const char* name, std::int64_t& value) {
  const auto field = config.find(name);
  if (field == config.end() || field->is_null()) {
    return std::nullopt;
  }
  // 2^24 is far above every published field, and keeps all products below within 64 bits.
  constexpr std::int64_t kMost = 1LL << 24U;
  if (!field->is_number_integer() || *field < 1 || *field > kMost) {
    return bad_field(name, fmt::format("an integer from 1 to {}", kMost));
  }
  value = field->get<std::int64_t>();
  return std::nullopt;
}

std::optional<Refusal> read_integers(const Json& config, WanConfig& out) {
  out.out_channels = 0;
  const struct {
    const char* name;
    std::int64_t* value;
  } fields[] = {
      {"num_attention_heads", &out.num_attention_heads},
      {"attention_head_dim", &out.attention_head_dim},
      {"in_channels", &out.in_channels},
      {"out_channels", &out.out_channels},
      {"text_dim", &out.text_dim},
      {"freq_dim", &out.freq_dim},
      {"ffn_dim", &out.ffn_dim},
      {"num_layers", &out.num_layers},
      {"rope_max_seq_len", &out.rope_max_seq_len},
  };
  for (const auto& field : fields) {
    if (auto refusal = read(config, field.name, *field.value)) {
      return refusal;
    }
  }
  if (out.out_channels == 0) {  // diffusers: null means as many as come in
    out.out_channels = config.contains("out_channels") ? out.in_channels : WanConfig{}.out_channels;
  }
  return std::nullopt;
}

std::optional<Refusal> read_patch_size(const Json& config, WanConfig& out) {
  const auto field = config.find("patch_size");
  if (field == config.end() || field->is_null()) {
    return std::nullopt;
  }
  if (!field->is_array() || field->size() != out.patch_size.size()) {
    return bad_field("patch_size", "a list of three integers");
  }
  for (std::size_t axis = 0; axis < out.patch_size.size(); ++axis) {
    const Json& extent = (*field)[axis];
    if (!extent.is_number_integer() || extent < 1 || extent > 1024) {
      return bad_field("patch_size", "a list of three integers from 1 to 1024");
    }
    out.patch_size[axis] = extent.get<std::int64_t>();
  }
  return std::nullopt;
}

std::optional<Refusal> read_norms(const Json& config, WanConfig& out) {
  if (const auto eps = config.find("eps"); eps != config.end() && !eps->is_null()) {
    if (!eps->is_number() || *eps <= 0.0) {
      return bad_field("eps", "a positive number");
    }
    out.eps = eps->get<double>();
  }
  if (const auto norm = config.find("cross_attn_norm"); norm != config.end()) {
    if (!norm->is_boolean()) {
      return bad_field("cross_attn_norm", "true or false");
    }
    out.cross_attn_norm = norm->get<bool>();
  }
  const auto qk_norm = config.find("qk_norm");
  if (qk_norm != config.end() && *qk_norm != "rms_norm_across_heads") {
    return unsupported(
        fmt::format("qk_norm {} is not supported, only rms_norm_across_heads", qk_norm->dump()));
  }
  return std::nullopt;
}

std::optional<Refusal> check_supported(const Json& config, const WanConfig& parsed) {
  for (const char* name : {"image_dim", "added_kv_proj_dim", "pos_embed_seq_len"}) {
    if (const auto field = config.find(name); field != config.end() && !field->is_null()) {
      return unsupported(fmt::format("'{}' asks for image conditioning", name));
    }
  }
  if (parsed.attention_head_dim % 2 != 0 || parsed.attention_head_dim < 6) {
    return bad_field("attention_head_dim", "even and at least 6 (three rotated axes)");
  }
  if (parsed.freq_dim % 2 != 0) {
    return bad_field("freq_dim", "even");
  }
  return std::nullopt;
}

}  // namespace

Result<WanConfig> parse_wan_config(const Json& config) {
  if (!config.is_object()) {
    return refuse(codes::kCheckpointInvalid, "the model configuration is not a JSON object", kWhere,
                  "use the config.json that belongs to the checkpoint");
  }
  const auto class_name = config.find("_class_name");
  if (class_name != config.end() && *class_name != "WanTransformer3DModel") {
    return unsupported(fmt::format("class {} is not WanTransformer3DModel", class_name->dump()));
  }
  WanConfig out;
  for (const auto read_part : {read_integers, read_patch_size, read_norms}) {
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
