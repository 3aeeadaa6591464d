// Owns: OffloadOptions, what the user asked for, with the reference's names and defaults
// (reference 1.1) and our extensions, off or at the reference's value by default.
// Must not own: rules (config/rules.h), parsing (config/option_rows.h) or what is really done
// (config/offload_config.h, contracts/effective_transfer.h). A plain value; any content may be
// constructed, validate() refuses what is wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace dlo::config {

inline constexpr std::int64_t kDefaultChunkBytes = 64LL * 1024 * 1024;
inline constexpr std::int64_t kPrefetchDepthMax = 4;
inline constexpr std::int64_t kInputSlotsMax = 1024;
inline constexpr std::int64_t kPackThreadsMax = 64;
inline constexpr std::int64_t kDefaultStagingChunkBytes = 16LL * 1024 * 1024;

struct OffloadOptions {
  bool enable_distributed_layerwise_offload = false;
  bool dlo_use_allgather = true;
  bool dlo_enable_runtime_cache = false;
  std::optional<std::string> dlo_runtime_cache_dir;  // none: ~/.cache/vllm-omni/dlo-runtime-weights
  double dlo_runtime_cache_lock_timeout = 600.0;     // seconds
  double dlo_runtime_cache_pin_limit_gib = 0.0;      // GiB (2^30) per worker; 0: register nothing
  std::int64_t dlo_resident_layers = 0;              // leading DiT blocks
  bool pin_cpu_memory = true;
  bool enable_layerwise_offload = false;  // lower-priority strategy
  bool enable_cpu_offload = false;        // lowest-priority strategy

  // Extensions of this product.
  std::int64_t dlo_prefetch_depth = 1;                // blocks; 1..4, output slots = depth + 1
  std::int64_t dlo_chunk_bytes = kDefaultChunkBytes;  // per rank and chunk; 0: whole block
  std::int64_t dlo_input_slots = 2;                   // AllGather input slots, 1..1024
  bool dlo_checkpoint_mmap = true;     // try to map the checkpoint; false: always load
  std::int64_t dlo_pack_threads = 4;   // that fill the staging ring, 1..64
  std::int64_t dlo_staging_bytes = 0;  // of the ring; 0: min(2 x largest block, 64 MiB)
  std::int64_t dlo_staging_chunk_bytes = kDefaultStagingChunkBytes;

  friend bool operator==(const OffloadOptions&, const OffloadOptions&) = default;
};

}  // namespace dlo::config
