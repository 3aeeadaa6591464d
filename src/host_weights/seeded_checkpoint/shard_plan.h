// Owns: the cut of a component's tensors into shard files as diffusers makes it: in order, a new
// file when the next tensor would pass the limit; a tensor above the limit has a file of its own.
// Must not own: files or values. Threading: pure function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dlo::host_weights {

// diffusers' default for save_pretrained: 10 GB.
inline constexpr std::uint64_t kDefaultShardBytes = 10'000'000'000;

struct PlannedShard {
  std::string file_name;             // "diffusion_pytorch_model-00001-of-00003.safetensors"
  std::vector<std::size_t> tensors;  // indices into the list, in order
  std::uint64_t tensor_bytes = 0;
};

// One shard has no number in its name. Precondition: shard_bytes > 0.
[[nodiscard]] std::vector<PlannedShard> plan_shards(const std::vector<std::uint64_t>& tensor_bytes,
                                                    std::uint64_t shard_bytes);

}  // namespace dlo::host_weights
