#include "model/text/umt5_config.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "base/json.h"
#include "model/config_fields.h"

namespace dlo::model {

namespace {

using Json = nlohmann::json;

constexpr const char* kWhere = "text_encoder config.json";
constexpr const char* kAction = "use a checkpoint whose text encoder is a UMT5EncoderModel";
constexpr const char* kGatedGelu = "gated-gelu";

std::optional<Refusal> read_token(const Json& config, const char* name, std::int64_t vocabulary,
                                  std::int64_t& value) {
  if (const auto field = config.find(name); field != config.end() && !field->is_null()) {
    if (!field->is_number_integer() || *field < 0) {
      return bad_config_field(name, "a token id");
    }
    value = field->get<std::int64_t>();
  }
  if (value >= vocabulary) {
    return bad_config_field(name, fmt::format("below vocab_size, which is {}", vocabulary));
  }
  return std::nullopt;
}

// Token ids travel as F32, which holds every id of a vocabulary of up to 2^24: read_integers takes
// no greater field.
std::optional<Refusal> read_sizes(const Json& config, Umt5Config& out) {
  if (auto refusal = read_integers(
          config, {{"vocab_size", &out.vocab_size},
                   {"d_model", &out.d_model},
                   {"d_kv", &out.d_kv},
                   {"d_ff", &out.d_ff},
                   {"num_layers", &out.num_layers},
                   {"num_heads", &out.num_heads},
                   {"relative_attention_num_buckets", &out.relative_attention_num_buckets},
                   {"relative_attention_max_distance", &out.relative_attention_max_distance}})) {
    return refusal;
  }
  if (auto refusal = read_positive(config, "layer_norm_epsilon", out.layer_norm_epsilon)) {
    return refusal;
  }
  if (auto refusal = read_token(config, "pad_token_id", out.vocab_size, out.pad_token_id)) {
    return refusal;
  }
  return read_token(config, "eos_token_id", out.vocab_size, out.eos_token_id);
}

std::optional<Refusal> check_supported(const Json& config, const Umt5Config& parsed) {
  const auto feed_forward = config.find("feed_forward_proj");
  if (feed_forward != config.end() && *feed_forward != kGatedGelu) {
    return unsupported_config(fmt::format("feed_forward_proj {} is not supported, only {}",
                                          feed_forward->dump(), kGatedGelu),
                              kAction);
  }
  const std::int64_t buckets = parsed.relative_attention_num_buckets;
  if (buckets % 4 != 0) {
    return bad_config_field("relative_attention_num_buckets", "a multiple of 4");
  }
  if (parsed.relative_attention_max_distance <= buckets / 4) {
    return bad_config_field("relative_attention_max_distance",
                            fmt::format("above {}, a quarter of the buckets", buckets / 4));
  }
  return std::nullopt;
}

}  // namespace

Result<Umt5Config> parse_umt5_config(const Json& config) {
  Umt5Config out;
  auto refusal = check_class(config, "UMT5EncoderModel", kAction);
  if (!refusal) {
    refusal = read_sizes(config, out);
  }
  if (!refusal) {
    refusal = check_supported(config, out);
  }
  if (refusal) {
    refusal->where = kWhere;
    return *std::move(refusal);
  }
  return out;
}

}  // namespace dlo::model
