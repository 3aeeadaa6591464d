// Owns: OffloadConfig, the normal form of valid options (reference 1.4): one strategy, the
// effective weight group size, and numbers in the types that the backend uses.
// Must not own: the topology's groups or what a rank really does (contracts/effective_transfer.h).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/refusal.h"

namespace dlo::config {

struct OffloadOptions;
struct ParallelConfig;

enum class OffloadStrategy : std::uint8_t {
  kNone,
  kModelLevel,
  kLayerwise,
  kDistributedLayerwise,
};

// "none", "model_level", "layerwise", "distributed_layerwise".
[[nodiscard]] std::string_view strategy_name(OffloadStrategy strategy);

struct OffloadConfig {
  OffloadStrategy strategy = OffloadStrategy::kNone;
  bool pin_cpu_memory = true;
  bool use_hsdp = false;
  // Size of the group that shares one copy of the weights; 1 without AllGather. Derived, never a
  // user's option.
  std::uint32_t dp_size = 1;
  bool dlo_use_allgather = true;
  std::uint32_t dlo_resident_layers = 0;
  double dlo_runtime_cache_pin_limit_gib = 0.0;

  // Extensions of this product.
  std::uint32_t prefetch_depth = 1;
  std::uint64_t chunk_bytes = 0;  // per rank and chunk; 0: whole block
  std::uint32_t input_slots = 2;
  bool checkpoint_mmap = true;
  std::uint32_t pack_threads = 4;
  std::uint64_t staging_bytes = 0;  // 0: from the largest block
  std::uint64_t staging_chunk_bytes = 0;

  // Strategies that were asked for and lost to a higher one: code lower_priority_strategy, the
  // option in `where`.
  std::vector<Refusal> set_aside;

  friend bool operator==(const OffloadConfig&, const OffloadConfig&) = default;
};

// Normal form of options that pass the construct stage. Never refuses: normalise rules are
// checked by validate() before the result is used; values that they refuse are clamped here.
[[nodiscard]] OffloadConfig normalise(const OffloadOptions& options,
                                      const ParallelConfig& parallel);

}  // namespace dlo::config
