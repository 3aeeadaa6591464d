#include "host_weights/seeded_checkpoint/shard_plan.h"

#include <fmt/format.h>

#include "base/error.h"

namespace dlo::host_weights {

std::vector<PlannedShard> plan_shards(const std::vector<std::uint64_t>& tensor_bytes,
                                      std::uint64_t shard_bytes) {
  require(shard_bytes > 0, "plan_shards: the limit is 0");
  std::vector<PlannedShard> shards(1);
  for (std::size_t i = 0; i < tensor_bytes.size(); ++i) {
    const bool full =
        tensor_bytes[i] > shard_bytes || shards.back().tensor_bytes > shard_bytes - tensor_bytes[i];
    if (full && !shards.back().tensors.empty()) {
      shards.emplace_back();
    }
    shards.back().tensors.push_back(i);
    shards.back().tensor_bytes += tensor_bytes[i];
  }
  for (std::size_t i = 0; i < shards.size(); ++i) {
    shards[i].file_name = shards.size() == 1
                              ? "diffusion_pytorch_model.safetensors"
                              : fmt::format("diffusion_pytorch_model-{:05}-of-{:05}.safetensors",
                                            i + 1, shards.size());
  }
  return shards;
}

}  // namespace dlo::host_weights
