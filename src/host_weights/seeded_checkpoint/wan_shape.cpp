#include "host_weights/seeded_checkpoint/wan_shape.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/codes.h"
#include "base/nearest_name.h"
#include "host_weights/json_fields.h"
#include "host_weights/seeded_checkpoint/checkpoint_texts.h"

namespace dlo::host_weights {

namespace {

using nlohmann::json;

constexpr std::string_view kClassName = "WanTransformer3DModel";
constexpr std::string_view kQkNorm = "rms_norm_across_heads";

constexpr std::array kPresets = {
    WanPreset{"wan_tiny",
              {.num_attention_heads = 2,
               .attention_head_dim = 12,
               .text_dim = 32,
               .ffn_dim = 32,
               .num_layers = 3,
               .rope_max_seq_len = 32},
              3.0},
    WanPreset{"wan_cpu",
              {.num_attention_heads = 4,
               .attention_head_dim = 64,
               .text_dim = 256,
               .ffn_dim = 1024,
               .num_layers = 8},
              3.0},
    WanPreset{"wan_1_3b",
              {.num_attention_heads = 12,
               .attention_head_dim = 128,
               .text_dim = 4096,
               .ffn_dim = 8960,
               .num_layers = 30},
              3.0},
    WanPreset{"wan_14b",
              {.num_attention_heads = 40,
               .attention_head_dim = 128,
               .text_dim = 4096,
               .ffn_dim = 13824,
               .num_layers = 40},
              5.0},
};

// The whole-number fields, each with its place in WanShape.
struct SizeField {
  std::string_view name;
  std::int64_t WanShape::*member;
};

constexpr std::array kSizeFields = {
    SizeField{"num_attention_heads", &WanShape::num_attention_heads},
    SizeField{"attention_head_dim", &WanShape::attention_head_dim},
    SizeField{"in_channels", &WanShape::in_channels},
    SizeField{"out_channels", &WanShape::out_channels},
    SizeField{"text_dim", &WanShape::text_dim},
    SizeField{"freq_dim", &WanShape::freq_dim},
    SizeField{"ffn_dim", &WanShape::ffn_dim},
    SizeField{"num_layers", &WanShape::num_layers},
    SizeField{"rope_max_seq_len", &WanShape::rope_max_seq_len},
};

// Variants of the class that this product does not build, by the field that asks for them.
Status check_variant(const json& config, std::string_view where) {
  const auto refuse_variant = [where](std::string_view field, const json& value) {
    return refuse(codes::kNotInThisProduct,
                  fmt::format("field '{}' is {}: this variant of {} is not in this product", field,
                              value.dump(), kClassName),
                  std::string(where), "use a text-to-video checkpoint of Wan 2.1 or 2.2");
  };
  for (const char* field : {"image_dim", "added_kv_proj_dim", "pos_embed_seq_len"}) {
    const auto found = config.find(field);
    if (found != config.end() && !found->is_null()) {
      return refuse_variant(field, *found);
    }
  }
  const auto cross_attn_norm = bool_field(config, "cross_attn_norm", where);
  if (!cross_attn_norm) {
    return cross_attn_norm.refusal();
  }
  if (!*cross_attn_norm) {
    return refuse_variant("cross_attn_norm", config["cross_attn_norm"]);
  }
  const auto qk_norm = text_field(config, "qk_norm", where);
  if (!qk_norm) {
    return qk_norm.refusal();
  }
  return *qk_norm == kQkNorm ? Status() : Status(refuse_variant("qk_norm", config["qk_norm"]));
}

}  // namespace

std::span<const WanPreset> wan_presets() {
  return kPresets;
}

Result<WanPreset> wan_preset(std::string_view name) {
  std::vector<std::string_view> known;
  for (const auto& preset : kPresets) {
    if (preset.name == name) {
      return preset;
    }
    known.push_back(preset.name);
  }
  return refuse(codes::kInvalidValue, fmt::format("unknown preset '{}'", name), "--preset",
                suggest_name(name, known));
}

json wan_config_json(const WanShape& shape) {
  json config = {{"_class_name", kClassName},
                 {"_diffusers_version", kDiffusersVersion},
                 {"added_kv_proj_dim", nullptr},
                 {"cross_attn_norm", true},
                 {"eps", shape.eps},
                 {"image_dim", nullptr},
                 {"patch_size", shape.patch_size},
                 {"pos_embed_seq_len", nullptr},
                 {"qk_norm", kQkNorm}};
  for (const auto& field : kSizeFields) {
    config[std::string(field.name)] = shape.*field.member;
  }
  return config;
}

Result<WanShape> parse_wan_config(const json& config, std::string_view where) {
  WanShape shape;
  for (const auto& field : kSizeFields) {
    const auto value = size_field(config, field.name, where);
    if (!value) {
      return value.refusal();
    }
    shape.*field.member = *value;
  }
  const auto patch = sizes_field(config, "patch_size", shape.patch_size.size(), where);
  if (!patch) {
    return patch.refusal();
  }
  std::copy(patch->begin(), patch->end(), shape.patch_size.begin());
  const auto eps = number_field(config, "eps", where);
  if (!eps) {
    return eps.refusal();
  }
  shape.eps = *eps;
  if (shape.attention_head_dim % 2 != 0) {
    return refuse(
        codes::kCheckpointInvalid,
        fmt::format("field 'attention_head_dim' is {}: rotary embedding needs an even one",
                    shape.attention_head_dim),
        std::string(where), "correct the file or fetch it again");
  }
  if (const auto variant = check_variant(config, where); !variant) {
    return variant.refusal();
  }
  return shape;
}

}  // namespace dlo::host_weights
