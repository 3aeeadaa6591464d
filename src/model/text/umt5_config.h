// Owns: Umt5Config, the fields of transformers' UMT5Config that the encoder has, read from
// config.json with that class's defaults.
// Must not own: parameters or arithmetic. Free of torch. Source: models.md 4.1 "Text".
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace dlo::model {

struct Umt5Config {
  std::int64_t vocab_size = 250112;
  std::int64_t d_model = 512;
  std::int64_t d_kv = 64;
  std::int64_t d_ff = 1024;
  std::int64_t num_layers = 8;
  std::int64_t num_heads = 6;
  std::int64_t relative_attention_num_buckets = 32;
  std::int64_t relative_attention_max_distance = 128;
  std::int64_t pad_token_id = 0;
  std::int64_t eos_token_id = 1;
  double layer_norm_epsilon = 1e-6;

  [[nodiscard]] std::int64_t inner() const { return num_heads * d_kv; }
};

// Refusals: checkpoint_invalid (a field of the wrong kind or an impossible value),
// not_in_this_product (a feed-forward that is not gated by a GELU).
[[nodiscard]] Result<Umt5Config> parse_umt5_config(const nlohmann::json& config);

}  // namespace dlo::model
