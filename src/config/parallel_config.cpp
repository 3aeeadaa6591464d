#include "config/parallel_config.h"

#include <algorithm>
#include <limits>

namespace dlo::config {

namespace {

std::int64_t saturating_product(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  for (const auto factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) {
      return std::numeric_limits<std::int64_t>::max();
    }
  }
  return product;
}

}  // namespace

std::int64_t sequence_size_from_degrees(const ParallelConfig& parallel) {
  return parallel.allgather_degree > 1
             ? parallel.allgather_degree
             : saturating_product({parallel.ulysses_degree, parallel.ring_degree});
}

std::int64_t sequence_size(const ParallelConfig& parallel) {
  return parallel.sequence_parallel_size.value_or(sequence_size_from_degrees(parallel));
}

std::int64_t size_without_hsdp(const ParallelConfig& parallel) {
  return saturating_product({parallel.pipeline_parallel_size, parallel.data_parallel_size,
                             parallel.tensor_parallel_size, sequence_size(parallel),
                             parallel.cfg_parallel_size});
}

std::int64_t world_size(const ParallelConfig& parallel) {
  const auto others = size_without_hsdp(parallel);
  const bool stands_alone = parallel.use_hsdp && parallel.hsdp_shard_size > 0 && others == 1;
  return stands_alone ? saturating_product({parallel.hsdp_shard_size, parallel.hsdp_replicate_size})
                      : others;
}

bool sizes_positive(const ParallelConfig& parallel) {
  return std::min({parallel.pipeline_parallel_size, parallel.data_parallel_size,
                   parallel.tensor_parallel_size, sequence_size(parallel), parallel.ulysses_degree,
                   parallel.ring_degree, parallel.allgather_degree, parallel.cfg_parallel_size,
                   parallel.vae_patch_parallel_size}) > 0;
}

}  // namespace dlo::config
