// Owns: the presets of every family under one list of names, and SeededModel, everything that a
// checkpoint folder of one says about itself: the pipeline, its configurations, its transformers.
// Must not own: files or values (seeded_checkpoint.h), or a family's lists (wan_tensors.h,
// flux_checkpoint.h, h3_checkpoint.h). Threading: pure functions. Source: models.md 7.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "host_weights/seeded_checkpoint/seeded_tensors.h"

namespace dlo::host_weights {

// Most blocks that a preset can be given.
inline constexpr std::int64_t kBlockCountLimit = 1000;

// One diffusion transformer of a pipeline.
struct SeededComponent {
  std::string name;       // folder: "transformer"
  nlohmann::json config;  // config.json
  std::vector<SeededTensor> tensors;
};

struct SeededModel {
  std::string preset;
  std::int64_t preset_blocks = 0;  // of the preset itself, in each transformer's ring
  std::int64_t blocks = 0;         // as asked for
  nlohmann::json model_index;
  std::optional<nlohmann::json> scheduler;  // scheduler_config.json; none: the pipeline has none
  std::vector<SeededComponent> transformers;
};

// Of every family: wan_*, wan_2_2_* (two transformers), flux_*, h3_*.
[[nodiscard]] std::vector<std::string_view> preset_names();

// Codes: invalid_value for an unknown name (with the nearest one) and for a depth that the family
// cannot have.
[[nodiscard]] Result<SeededModel> seeded_model(std::string_view preset,
                                               std::optional<std::int64_t> blocks);

}  // namespace dlo::host_weights
