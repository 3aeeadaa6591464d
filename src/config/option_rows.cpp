#include "config/option_rows.h"

#include <array>

namespace dlo::config {

namespace {

using Offload = OptionRow<OffloadOptions>;
using Parallel = OptionRow<ParallelConfig>;
using Neighbour = OptionRow<NeighbourOptions>;

constexpr std::array kOffloadRows = {
    Offload{"enable_distributed_layerwise_offload",
            &OffloadOptions::enable_distributed_layerwise_offload, "",
            "--enable-distributed-layerwise-offload", "",
            "Stream the blocks of the diffusion transformer through device slots."},
    Offload{"dlo_use_allgather", &OffloadOptions::dlo_use_allgather, "", "--dlo-use-allgather",
            "--dlo-no-use-allgather",
            "Shard the host weights over the weight group and gather each block."},
    Offload{"dlo_enable_runtime_cache", &OffloadOptions::dlo_enable_runtime_cache, "",
            "--dlo-enable-runtime-cache", "",
            "Publish loaded weights to a node-local cache and map them."},
    Offload{"dlo_runtime_cache_dir", &OffloadOptions::dlo_runtime_cache_dir, "path", "", "",
            "Root of the runtime cache; none: ~/.cache/vllm-omni/dlo-runtime-weights."},
    Offload{"dlo_runtime_cache_lock_timeout", &OffloadOptions::dlo_runtime_cache_lock_timeout,
            "seconds", "", "", "Longest wait for the cache's writer lock."},
    Offload{"dlo_runtime_cache_pin_limit_gib", &OffloadOptions::dlo_runtime_cache_pin_limit_gib,
            "GiB", "--dlo-runtime-cache-pin-limit-gib", "",
            "Mapped cache bytes that each worker may register; 0 registers nothing."},
    Offload{"dlo_resident_layers", &OffloadOptions::dlo_resident_layers, "blocks",
            "--dlo-resident-layers", "", "Leading blocks that stay on the device."},
    Offload{"pin_cpu_memory", &OffloadOptions::pin_cpu_memory, "", "--pin-cpu-memory",
            "--no-pin-cpu-memory", "Hold host weights in pinned memory."},
    Offload{"enable_layerwise_offload", &OffloadOptions::enable_layerwise_offload, "",
            "--enable-layerwise-offload", "",
            "Plain layerwise offload: loses to distributed layerwise offload."},
    Offload{"enable_cpu_offload", &OffloadOptions::enable_cpu_offload, "", "--enable-cpu-offload",
            "", "Model-level offload: loses to both layerwise ones."},
    Offload{"dlo_prefetch_depth", &OffloadOptions::dlo_prefetch_depth, "blocks",
            "--dlo-prefetch-depth", "",
            "Blocks fetched ahead of compute, 1 to 4; output slots are one more."},
    Offload{"dlo_chunk_bytes", &OffloadOptions::dlo_chunk_bytes, "bytes", "--dlo-chunk-bytes", "",
            "Bytes per rank and chunk of a block, a multiple of 256; 0: the whole block."},
    Offload{"dlo_input_slots", &OffloadOptions::dlo_input_slots, "slots", "--dlo-input-slots", "",
            "Device buffers that hold pieces until they are gathered."},
    Offload{"dlo_checkpoint_mmap", &OffloadOptions::dlo_checkpoint_mmap, "",
            "--dlo-checkpoint-mmap", "--dlo-no-checkpoint-mmap",
            "Map a checkpoint that is laid out as the model runs it instead of loading it."},
    Offload{"dlo_pack_threads", &OffloadOptions::dlo_pack_threads, "threads", "--dlo-pack-threads",
            "", "Threads that fill the staging ring from a mapping, 1 to 64."},
    Offload{"dlo_staging_bytes", &OffloadOptions::dlo_staging_bytes, "bytes", "--dlo-staging-bytes",
            "", "Size of the staging ring; 0: two of the largest block, at most 64 MiB."},
    Offload{"dlo_staging_chunk_bytes", &OffloadOptions::dlo_staging_chunk_bytes, "bytes",
            "--dlo-staging-chunk-bytes", "",
            "Bytes that are packed and copied at a time, a multiple of 256."},
};

constexpr std::array kParallelRows = {
    Parallel{"data_parallel_size", &ParallelConfig::data_parallel_size, "ranks",
             "--data-parallel-size", "", "Replicas; the weight group when above 1."},
    Parallel{"tensor_parallel_size", &ParallelConfig::tensor_parallel_size, "ranks",
             "--tensor-parallel-size", "", "Ranks that share each matrix; never a weight group."},
    Parallel{"sequence_parallel_size", &ParallelConfig::sequence_parallel_size, "ranks",
             "--sequence-parallel-size", "",
             "Ranks that share each sequence; none: from the degrees."},
    Parallel{"ulysses_degree", &ParallelConfig::ulysses_degree, "ranks", "--ulysses-degree", "",
             "All-to-all part of sequence parallelism."},
    Parallel{"ring_degree", &ParallelConfig::ring_degree, "ranks", "--ring-degree", "",
             "Ring-attention part of sequence parallelism."},
    Parallel{"allgather_degree", &ParallelConfig::allgather_degree, "ranks", "--allgather-degree",
             "", "AllGather-KV sequence parallelism instead of the above."},
    Parallel{"ulysses_mode", &ParallelConfig::ulysses_mode, "", "--ulysses-mode", "",
             "strict or advanced_uaa."},
    Parallel{"use_hsdp", &ParallelConfig::use_hsdp, "", "--use-hsdp", "",
             "Hybrid sharded data parallelism."},
    Parallel{"hsdp_shard_size", &ParallelConfig::hsdp_shard_size, "ranks", "--hsdp-shard-size", "",
             "Ranks that share one HSDP copy; -1: from the other sizes."},
    Parallel{"hsdp_replicate_size", &ParallelConfig::hsdp_replicate_size, "ranks",
             "--hsdp-replicate-size", "", "HSDP copies."},
    Parallel{"pipeline_parallel_size", &ParallelConfig::pipeline_parallel_size, "ranks",
             "--pipeline-parallel-size", "", "Pipeline stages."},
    Parallel{"cfg_parallel_size", &ParallelConfig::cfg_parallel_size, "ranks",
             "--cfg-parallel-size", "", "Ranks that share the guidance branches."},
    Parallel{"vae_patch_parallel_size", &ParallelConfig::vae_patch_parallel_size, "ranks",
             "--vae-patch-parallel-size", "", "Ranks that share the VAE's patches."},
    Parallel{"enable_expert_parallel", &ParallelConfig::enable_expert_parallel, "",
             "--enable-expert-parallel", "", "Experts over the tensor-parallel ranks."},
};

constexpr std::array kNeighbourRows = {
    Neighbour{"request_batch_max_wait_ms", &NeighbourOptions::request_batch_max_wait_ms, "ms",
              "--request-batch-max-wait-ms", "", "Longest admission wait that fills a wave."},
    Neighbour{"max_num_seqs", &NeighbourOptions::max_num_seqs, "requests", "--max-num-seqs", "",
              "Requests in flight."},
    Neighbour{"num_gpus", &NeighbourOptions::num_gpus, "devices", "--num-gpus", "",
              "Devices of the job; none: as many as the topology needs."},
    Neighbour{"supports_fused_request_batches", &NeighbourOptions::supports_fused_request_batches,
              "", "", "", "The pipeline runs several requests as one batch."},
};

}  // namespace

std::span<const OptionRow<OffloadOptions>> offload_option_rows() {
  return kOffloadRows;
}

std::span<const OptionRow<ParallelConfig>> parallel_option_rows() {
  return kParallelRows;
}

std::span<const OptionRow<NeighbourOptions>> neighbour_option_rows() {
  return kNeighbourRows;
}

Result<OffloadOptions> options_from_json(const nlohmann::json& json) {
  return table_from_json(offload_option_rows(), json, "options");
}

Result<ParallelConfig> parallel_from_json(const nlohmann::json& json) {
  return table_from_json(parallel_option_rows(), json, "parallel");
}

Result<NeighbourOptions> neighbours_from_json(const nlohmann::json& json) {
  return table_from_json(neighbour_option_rows(), json, "neighbours");
}

nlohmann::json options_to_json(const OffloadOptions& options) {
  return table_to_json(offload_option_rows(), options);
}

nlohmann::json parallel_to_json(const ParallelConfig& parallel) {
  return table_to_json(parallel_option_rows(), parallel);
}

nlohmann::json neighbours_to_json(const NeighbourOptions& neighbours) {
  return table_to_json(neighbour_option_rows(), neighbours);
}

}  // namespace dlo::config
