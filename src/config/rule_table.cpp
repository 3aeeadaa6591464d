#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/bytes.h"
#include "config/rules.h"

namespace dlo::config {

namespace {

using C = Configuration;

bool hsdp_sizes_positive(const ParallelConfig& p) {
  return p.hsdp_replicate_size > 0 && (p.hsdp_shard_size > 0 || p.hsdp_shard_size == -1);
}

// The rules below that need products of sizes are judged only where every size makes sense; where
// it does not, CFG-10, CFG-15 or CFG-63 already says so.
bool world_is_defined(const ParallelConfig& p) {
  return sizes_positive(p) && (!p.use_hsdp || hsdp_sizes_positive(p));
}

bool hsdp_auto_is_undefined(const ParallelConfig& p) {
  if (p.hsdp_replicate_size <= 0) {
    return true;
  }
  const bool automatic = p.hsdp_shard_size == -1 && sizes_positive(p);
  return automatic &&
         (size_without_hsdp(p) == 1 || size_without_hsdp(p) % p.hsdp_replicate_size != 0);
}

bool hsdp_misses_world(const ParallelConfig& p) {
  if (!world_is_defined(p) || p.hsdp_shard_size == -1 || size_without_hsdp(p) == 1) {
    return false;
  }
  const auto others = size_without_hsdp(p);
  return others % p.hsdp_shard_size != 0 || others / p.hsdp_shard_size != p.hsdp_replicate_size;
}

bool gathers_over_dp(const C& c) {
  return c.options.enable_distributed_layerwise_offload && c.options.dlo_use_allgather &&
         c.parallel.data_parallel_size > 1;
}

std::string sizes_text(const ParallelConfig& p) {
  return fmt::format(
      "PP {}, DP {}, TP {}, SP {}, ulysses {}, ring {}, allgather {}, CFG {}, VAE patch {}",
      p.pipeline_parallel_size, p.data_parallel_size, p.tensor_parallel_size, sequence_size(p),
      p.ulysses_degree, p.ring_degree, p.allgather_degree, p.cfg_parallel_size,
      p.vae_patch_parallel_size);
}

constexpr std::array kConstructRules = {
    Rule{"CFG-01", Stage::kConstruct, "dlo_runtime_cache_lock_timeout",
         [](const C& c) {
           const double timeout_s = c.options.dlo_runtime_cache_lock_timeout;
           return !std::isfinite(timeout_s) || timeout_s <= 0;
         },
         [](const C& c) {
           return fmt::format("lock timeout of {} s is not positive and finite",
                              c.options.dlo_runtime_cache_lock_timeout);
         },
         "give seconds above 0"},
    Rule{"CFG-02", Stage::kConstruct, "dlo_runtime_cache_pin_limit_gib",
         [](const C& c) {
           const double limit_gib = c.options.dlo_runtime_cache_pin_limit_gib;
           return !std::isfinite(limit_gib) || limit_gib < 0;
         },
         [](const C& c) {
           return fmt::format("pin limit of {} GiB is negative or not finite",
                              c.options.dlo_runtime_cache_pin_limit_gib);
         },
         "give GiB of 0 or above"},
    Rule{"CFG-03", Stage::kConstruct, "dlo_enable_runtime_cache",
         [](const C& c) {
           return c.options.dlo_enable_runtime_cache &&
                  !c.options.enable_distributed_layerwise_offload;
         },
         [](const C&) -> std::string {
           return "the runtime cache needs distributed layerwise offload";
         },
         "set enable_distributed_layerwise_offload"},
    Rule{"CFG-04", Stage::kConstruct, "dlo_enable_runtime_cache",
         [](const C& c) {
           return c.options.dlo_enable_runtime_cache && c.options.dlo_use_allgather;
         },
         [](const C&) -> std::string { return "the runtime cache does not go with AllGather"; },
         "set dlo_use_allgather to false"},
    Rule{"CFG-05", Stage::kConstruct, "dlo_runtime_cache_pin_limit_gib",
         [](const C& c) {
           // A NaN differs from 0 too, as in the reference.
           return !(c.options.dlo_runtime_cache_pin_limit_gib == 0.0) &&
                  !c.options.dlo_enable_runtime_cache;
         },
         [](const C&) -> std::string { return "a pin limit needs the runtime cache"; },
         "set dlo_enable_runtime_cache, or the limit to 0"},
    Rule{"CFG-06", Stage::kConstruct, "request_batch_max_wait_ms",
         [](const C& c) {
           const double wait_ms = c.neighbours.request_batch_max_wait_ms;
           return !std::isfinite(wait_ms) || wait_ms < 0;
         },
         [](const C& c) {
           return fmt::format("admission wait of {} ms is negative or not finite",
                              c.neighbours.request_batch_max_wait_ms);
         },
         "give milliseconds of 0 or above"},
    Rule{"CFG-07", Stage::kConstruct, "num_gpus",
         [](const C& c) {
           return c.neighbours.num_gpus.has_value() && world_is_defined(c.parallel) &&
                  *c.neighbours.num_gpus < world_size(c.parallel);
         },
         [](const C& c) {
           return fmt::format("{} devices for a topology of {} ranks", *c.neighbours.num_gpus,
                              world_size(c.parallel));
         },
         "give more devices or a smaller topology"},
};

constexpr std::array kParallelRules = {
    Rule{"CFG-10", Stage::kConstruct, "parallel sizes",
         [](const C& c) { return !sizes_positive(c.parallel); },
         [](const C& c) { return "a parallel size is below 1: " + sizes_text(c.parallel); },
         "give sizes of 1 or above"},
    Rule{"CFG-11", Stage::kConstruct, "sequence_parallel_size",
         [](const C& c) {
           return sizes_positive(c.parallel) &&
                  sequence_size(c.parallel) != sequence_size_from_degrees(c.parallel);
         },
         [](const C& c) {
           return fmt::format("sequence_parallel_size is {} where its degrees give {}",
                              sequence_size(c.parallel), sequence_size_from_degrees(c.parallel));
         },
         "leave sequence_parallel_size out, or give the degrees' product"},
    Rule{"CFG-12", Stage::kConstruct, "allgather_degree",
         [](const C& c) {
           return c.parallel.allgather_degree > 1 &&
                  (c.parallel.ulysses_degree > 1 || c.parallel.ring_degree > 1);
         },
         [](const C& c) {
           return fmt::format("allgather_degree {} beside ulysses {} and ring {}",
                              c.parallel.allgather_degree, c.parallel.ulysses_degree,
                              c.parallel.ring_degree);
         },
         "use one kind of sequence parallelism"},
    Rule{"CFG-13", Stage::kConstruct, "ulysses_mode",
         [](const C& c) {
           return c.parallel.ulysses_mode != "strict" && c.parallel.ulysses_mode != "advanced_uaa";
         },
         [](const C& c) {
           return fmt::format("ulysses_mode '{}' is unknown", c.parallel.ulysses_mode);
         },
         "give strict or advanced_uaa"},
    Rule{"CFG-14", Stage::kConstruct, "use_hsdp",
         [](const C& c) {
           return c.parallel.use_hsdp &&
                  (c.parallel.tensor_parallel_size > 1 || c.parallel.data_parallel_size > 1);
         },
         [](const C& c) {
           return fmt::format("HSDP beside TP {} and DP {}", c.parallel.tensor_parallel_size,
                              c.parallel.data_parallel_size);
         },
         "set both to 1, or use_hsdp off"},
    Rule{"CFG-15", Stage::kConstruct, "hsdp_replicate_size",
         [](const C& c) { return c.parallel.use_hsdp && hsdp_auto_is_undefined(c.parallel); },
         [](const C& c) {
           return fmt::format("HSDP shard size cannot follow from {} replicas of {}",
                              c.parallel.hsdp_replicate_size, sizes_text(c.parallel));
         },
         "give hsdp_shard_size, and replicas of 1 or above that divide the world"},
    Rule{"CFG-16", Stage::kConstruct, "hsdp_shard_size",
         [](const C& c) { return c.parallel.use_hsdp && hsdp_misses_world(c.parallel); },
         [](const C& c) {
           return fmt::format("HSDP {} x {} does not make the {} ranks of the other sizes",
                              c.parallel.hsdp_shard_size, c.parallel.hsdp_replicate_size,
                              size_without_hsdp(c.parallel));
         },
         "give shard and replicate sizes whose product is the world"},
};

constexpr std::array kLaterRules = {
    Rule{
        "CFG-20", Stage::kNormalise, "dlo_resident_layers",
        [](const C& c) { return c.options.dlo_resident_layers < 0; },
        [](const C& c) { return fmt::format("{} resident layers", c.options.dlo_resident_layers); },
        "give 0 or above"},
    Rule{
        "CFG-21", Stage::kNormalise, "dlo_resident_layers",
        [](const C& c) { return c.options.dlo_resident_layers > 0 && c.options.dlo_use_allgather; },
        [](const C&) -> std::string { return "resident layers do not go with AllGather"; },
        "set dlo_use_allgather to false, or dlo_resident_layers to 0"},
    Rule{"CFG-22", Stage::kNormalise, "use_hsdp",
         [](const C& c) {
           return c.options.enable_distributed_layerwise_offload && c.parallel.use_hsdp &&
                  c.options.dlo_use_allgather;
         },
         [](const C&) -> std::string { return "AllGather would shard what HSDP has sharded"; },
         "set dlo_use_allgather to false, or use_hsdp off"},
    Rule{"CFG-50", Stage::kEngine, "max_num_seqs",
         [](const C& c) {
           return c.neighbours.max_num_seqs > 1 && !c.neighbours.supports_fused_request_batches &&
                  !gathers_over_dp(c);
         },
         [](const C& c) {
           return fmt::format("{} requests in flight, and the pipeline has no fused batches",
                              c.neighbours.max_num_seqs);
         },
         "set max_num_seqs to 1, or use AllGather over DP"},
};

constexpr bool multiple_of_256(std::int64_t bytes) {
  return bytes % static_cast<std::int64_t>(kTensorAlignmentBytes) == 0;
}

constexpr std::array kOwnRules = {
    Rule{"CFG-60", Stage::kConstruct, "dlo_prefetch_depth",
         [](const C& c) {
           return c.options.dlo_prefetch_depth < 1 ||
                  c.options.dlo_prefetch_depth > kPrefetchDepthMax;
         },
         [](const C& c) {
           return fmt::format("prefetch depth of {} blocks", c.options.dlo_prefetch_depth);
         },
         "give 1 to 4"},
    Rule{"CFG-61", Stage::kConstruct, "dlo_chunk_bytes",
         [](const C& c) {
           return c.options.dlo_chunk_bytes < 0 || !multiple_of_256(c.options.dlo_chunk_bytes);
         },
         [](const C& c) {
           return fmt::format("chunk of {} bytes is no multiple of 256", c.options.dlo_chunk_bytes);
         },
         "give a multiple of 256, or 0 for the whole block"},
    Rule{"CFG-62", Stage::kConstruct, "dlo_input_slots",
         [](const C& c) {
           return c.options.dlo_input_slots < 1 || c.options.dlo_input_slots > kInputSlotsMax;
         },
         [](const C& c) { return fmt::format("{} input slots", c.options.dlo_input_slots); },
         "give 1 to 1024"},
    Rule{
        "CFG-63", Stage::kConstruct, "hsdp_shard_size",
        [](const C& c) {
          return c.parallel.use_hsdp && c.parallel.hsdp_shard_size < 1 &&
                 c.parallel.hsdp_shard_size != -1;
        },
        [](const C& c) { return fmt::format("HSDP shard size of {}", c.parallel.hsdp_shard_size); },
        "give 1 or above, or -1 to derive it"},
    Rule{"CFG-64", Stage::kConstruct, "max_num_seqs",
         [](const C& c) { return c.neighbours.max_num_seqs < 1; },
         [](const C& c) { return fmt::format("{} requests in flight", c.neighbours.max_num_seqs); },
         "give 1 or above"},
    Rule{"CFG-65", Stage::kConstruct, "dlo_pack_threads",
         [](const C& c) {
           return c.options.dlo_pack_threads < 1 || c.options.dlo_pack_threads > kPackThreadsMax;
         },
         [](const C& c) { return fmt::format("{} packing threads", c.options.dlo_pack_threads); },
         "give 1 to 64"},
    Rule{"CFG-66", Stage::kConstruct, "dlo_staging_chunk_bytes",
         [](const C& c) {
           return c.options.dlo_staging_chunk_bytes < 1 ||
                  !multiple_of_256(c.options.dlo_staging_chunk_bytes);
         },
         [](const C& c) {
           return fmt::format("staging chunk of {} bytes is no positive multiple of 256",
                              c.options.dlo_staging_chunk_bytes);
         },
         "give a positive multiple of 256"},
    Rule{"CFG-67", Stage::kConstruct, "dlo_staging_bytes",
         [](const C& c) {
           const auto& options = c.options;
           return options.dlo_staging_bytes < 0 ||
                  (options.dlo_staging_bytes != 0 &&
                   options.dlo_staging_bytes / 2 < options.dlo_staging_chunk_bytes);
         },
         [](const C& c) {
           return fmt::format("staging ring of {} bytes holds no two chunks of {}",
                              c.options.dlo_staging_bytes, c.options.dlo_staging_chunk_bytes);
         },
         "give two chunks or more, or 0 for the default"},
};

template <std::size_t... kSizes>
constexpr auto joined(const std::array<Rule, kSizes>&... parts) {
  std::array<Rule, (kSizes + ...)> all{};
  auto* out = all.begin();
  ((out = std::copy(parts.begin(), parts.end(), out)), ...);
  return all;
}

constexpr auto kRules = joined(kConstructRules, kParallelRules, kLaterRules, kOwnRules);

}  // namespace

std::span<const Rule> configuration_rules() {
  return kRules;
}

}  // namespace dlo::config
