// Owns: the JSON documents of a seeded checkpoint folder beside the transformers' own: model
// indices, the scheduler's configuration, shard indices, as diffusers writes them.
// Must not own: where they are written (seeded_checkpoint.h). Threading: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "host_weights/seeded_checkpoint/seeded_tensors.h"
#include "host_weights/seeded_checkpoint/shard_plan.h"

namespace dlo::host_weights {

inline constexpr const char* kShardIndexName = "diffusion_pytorch_model.safetensors.index.json";
// The release whose layout is written.
inline constexpr const char* kDiffusersVersion = "0.42.1";

// A JSON document as a file's text.
[[nodiscard]] std::string file_text(const nlohmann::json& document);

// With a boundary the pipeline has two transformers.
[[nodiscard]] nlohmann::json wan_index_json(std::optional<double> boundary_ratio);
[[nodiscard]] nlohmann::json flux_index_json();
[[nodiscard]] nlohmann::json h3_index_json();
// FlowMatchEulerDiscreteScheduler.
[[nodiscard]] nlohmann::json scheduler_config_json(double shift, bool dynamic);
[[nodiscard]] nlohmann::json shard_index_json(const std::vector<SeededTensor>& tensors,
                                              const std::vector<PlannedShard>& shards);

}  // namespace dlo::host_weights
