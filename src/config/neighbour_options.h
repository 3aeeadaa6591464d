// Owns: NeighbourOptions, the few options outside offload and parallelism that the rules look at
// (reference 1.2).
// Must not own: anything that no rule reads. A plain value.
#pragma once

#include <cstdint>
#include <optional>

namespace dlo::config {

struct NeighbourOptions {
  double request_batch_max_wait_ms = 0.0;       // admission wait that fills a wave
  std::int64_t max_num_seqs = 1;                // requests in flight
  std::optional<std::int64_t> num_gpus;         // devices of the job; none: as many as needed
  bool supports_fused_request_batches = false;  // of the pipeline

  friend bool operator==(const NeighbourOptions&, const NeighbourOptions&) = default;
};

}  // namespace dlo::config
