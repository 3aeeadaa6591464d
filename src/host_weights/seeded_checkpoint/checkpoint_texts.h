// Owns: the JSON texts of a seeded checkpoint folder: model_index.json, the component
// configurations and the shard index, as diffusers writes them.
// Must not own: where they are written (seeded_checkpoint.h). Threading: pure functions.
#pragma once

#include <string>
#include <vector>

#include "host_weights/seeded_checkpoint/seeded_checkpoint.h"
#include "host_weights/seeded_checkpoint/shard_plan.h"

namespace dlo::host_weights {

inline constexpr const char* kShardIndexName = "diffusion_pytorch_model.safetensors.index.json";

[[nodiscard]] std::string model_index_text();
// FlowMatchEulerDiscreteScheduler with static `shift`.
[[nodiscard]] std::string scheduler_config_text(double shift);
// config.json of the transformer, with what it was made from.
[[nodiscard]] std::string transformer_config_text(const WanShape& shape, const WanPreset& preset,
                                                  const SeededCheckpointOptions& options);
[[nodiscard]] std::string shard_index_text(const std::vector<WanTensor>& tensors,
                                           const std::vector<PlannedShard>& shards);

}  // namespace dlo::host_weights
