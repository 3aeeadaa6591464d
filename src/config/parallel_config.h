// Owns: ParallelConfig, the sizes of every parallel dimension that rules, identity and refusals
// name (reference 1.2), and the arithmetic on them.
// Must not own: rules (config/rules.h), rank coordinates (comm/process_groups.h). A plain value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace dlo::config {

struct ParallelConfig {
  std::int64_t data_parallel_size = 1;
  std::int64_t tensor_parallel_size = 1;
  std::optional<std::int64_t> sequence_parallel_size;  // none: follows from the degrees below
  std::int64_t ulysses_degree = 1;
  std::int64_t ring_degree = 1;
  std::int64_t allgather_degree = 1;  // AllGather-KV sequence parallelism; unrelated to DLO
  std::string ulysses_mode = "strict";
  bool use_hsdp = false;
  std::int64_t hsdp_shard_size = -1;  // -1: from the other sizes
  std::int64_t hsdp_replicate_size = 1;
  std::int64_t pipeline_parallel_size = 1;
  std::int64_t cfg_parallel_size = 1;
  std::int64_t vae_patch_parallel_size = 1;  // shares the DiT ranks; no factor of the world
  bool enable_expert_parallel = false;

  friend bool operator==(const ParallelConfig&, const ParallelConfig&) = default;
};

// allgather_degree when above 1, otherwise ulysses_degree * ring_degree (saturating).
[[nodiscard]] std::int64_t sequence_size_from_degrees(const ParallelConfig& parallel);

// sequence_parallel_size, or what the degrees give when it is not set.
[[nodiscard]] std::int64_t sequence_size(const ParallelConfig& parallel);

// PP * DP * TP * SP * CFG, saturating at the largest int64. Precondition: sizes_positive().
[[nodiscard]] std::int64_t size_without_hsdp(const ParallelConfig& parallel);

// Ranks that the configuration needs: size_without_hsdp(), or shard * replicate when HSDP with an
// explicit shard size stands alone. Preconditions: sizes_positive(), positive HSDP sizes with HSDP.
[[nodiscard]] std::int64_t world_size(const ParallelConfig& parallel);

// True when every size but HSDP's is at least 1 (rule CFG-10).
[[nodiscard]] bool sizes_positive(const ParallelConfig& parallel);

}  // namespace dlo::config
