#include "config/offload_config.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/codes.h"
#include "base/error.h"
#include "config/offload_options.h"
#include "config/parallel_config.h"

namespace dlo::config {

namespace {

std::uint32_t clamp_to_u32(std::int64_t value) {
  constexpr std::int64_t kMax = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, kMax));
}

std::uint64_t clamp_to_u64(std::int64_t value) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0));
}

std::int64_t group_size(const ParallelConfig& parallel) {
  std::int64_t size = parallel.data_parallel_size;
  if (parallel.use_hsdp && parallel.hsdp_shard_size > 0) {
    size = world_size(parallel);  // shard * replicate: CFG-16 holds
  }
  return size > 1 ? size : std::max<std::int64_t>(sequence_size(parallel), 1);
}

struct AskedStrategy {
  bool OffloadOptions::*asked;
  OffloadStrategy strategy;
  const char* option;
};

// Highest priority first.
constexpr AskedStrategy kStrategies[] = {
    {&OffloadOptions::enable_distributed_layerwise_offload, OffloadStrategy::kDistributedLayerwise,
     "enable_distributed_layerwise_offload"},
    {&OffloadOptions::enable_layerwise_offload, OffloadStrategy::kLayerwise,
     "enable_layerwise_offload"},
    {&OffloadOptions::enable_cpu_offload, OffloadStrategy::kModelLevel, "enable_cpu_offload"},
};

void choose_strategy(const OffloadOptions& options, OffloadConfig& config) {
  for (const auto& row : kStrategies) {
    if (!(options.*row.asked)) {
      continue;
    }
    if (config.strategy == OffloadStrategy::kNone) {
      config.strategy = row.strategy;
      continue;
    }
    config.set_aside.push_back(refuse(codes::kLowerPriorityStrategy,
                                      std::string(strategy_name(row.strategy)) +
                                          " offload is set aside for " +
                                          std::string(strategy_name(config.strategy)) + " offload",
                                      row.option, "ask for one strategy only"));
  }
}

}  // namespace

std::string_view strategy_name(OffloadStrategy strategy) {
  switch (strategy) {
    case OffloadStrategy::kNone:
      return "none";
    case OffloadStrategy::kModelLevel:
      return "model_level";
    case OffloadStrategy::kLayerwise:
      return "layerwise";
    case OffloadStrategy::kDistributedLayerwise:
      return "distributed_layerwise";
  }
  throw LogicError("strategy without a name");
}

OffloadConfig normalise(const OffloadOptions& options, const ParallelConfig& parallel) {
  OffloadConfig config;
  choose_strategy(options, config);
  config.pin_cpu_memory = options.pin_cpu_memory;
  config.use_hsdp = parallel.use_hsdp;
  config.dlo_use_allgather = options.dlo_use_allgather;
  config.dlo_resident_layers = clamp_to_u32(options.dlo_resident_layers);
  config.dlo_runtime_cache_pin_limit_gib = options.dlo_runtime_cache_pin_limit_gib;
  const bool rank_local =
      config.strategy == OffloadStrategy::kDistributedLayerwise && !options.dlo_use_allgather;
  config.dp_size = rank_local ? 1 : clamp_to_u32(group_size(parallel));
  config.prefetch_depth = clamp_to_u32(options.dlo_prefetch_depth);
  config.chunk_bytes = clamp_to_u64(options.dlo_chunk_bytes);
  config.input_slots = clamp_to_u32(options.dlo_input_slots);
  config.checkpoint_mmap = options.dlo_checkpoint_mmap;
  config.pack_threads = clamp_to_u32(options.dlo_pack_threads);
  config.staging_bytes = clamp_to_u64(options.dlo_staging_bytes);
  config.staging_chunk_bytes = clamp_to_u64(options.dlo_staging_chunk_bytes);
  return config;
}

}  // namespace dlo::config
