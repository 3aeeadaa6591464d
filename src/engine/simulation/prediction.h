// Owns: the prediction of block and wave time for a topology on a calibrated machine: the real
// backend and hot path in the simulator, forwards after warm-up, and what bounds them.
// Must not own: figures (calibration.h), durations (calibrated_costs.h), presets (preset_blocks.h).
// Deterministic: one request, one answer. Not modelled: gathers that wait for the SMs of a running
// kernel, collectives of TP and SP, the spread of real machines.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "contracts/effective_transfer.h"
#include "engine/simulation/calibration.h"

namespace dlo::engine {

struct PredictedBlock {
  std::uint64_t bytes = 0;     // of its layout
  Nanoseconds compute_ns = 0;  // alone on the device
};

struct PredictRequest {
  Calibration calibration;
  std::uint32_t ranks = 1;  // of the node, all copying at once
  // Size of the weight group; 0: all ranks with AllGather. Ignored by other transfers.
  std::uint32_t group_size = 0;
  contracts::Transfer transfer = contracts::Transfer::kRankLocal;
  std::vector<PredictedBlock> blocks;
  Nanoseconds other_compute_ns = 0;  // outside the blocks, a forward
  std::uint32_t prefetch_depth = 1;
  std::uint64_t chunk_bytes = 0;  // per rank and chunk; 0: whole block
  std::uint32_t input_slots = 2;
  std::uint32_t forwards = 5;  // measured, after two of warm-up
};

enum class Resource : std::uint8_t { kCompute, kH2d, kGather, kHost };
inline constexpr std::size_t kResourceCount = 4;
// "compute", "h2d", "gather", "host_dispatch".
[[nodiscard]] std::string_view resource_name(Resource resource);

// All times are of one forward, mean over the measured ones, unless said otherwise.
struct PredictResult {
  Nanoseconds wave_ns = 0;        // of the slowest rank, from end to end of forwards
  Nanoseconds first_wave_ns = 0;  // the first forward, slots empty at its start
  Nanoseconds block_p50_ns = 0;   // from end to end of blocks
  Nanoseconds block_p99_ns = 0;
  Nanoseconds exposed_p50_ns = 0;  // per block, compute idle before it
  Nanoseconds exposed_p99_ns = 0;

  // How long each resource is busy, by Resource; of rank 0.
  std::array<Nanoseconds, kResourceCount> busy_ns{};
  // The wave cut by what compute does or lacks: it runs (kCompute), or is idle while the link, the
  // gathers (the busier of both first) or only the host work. Sums to window_ns.
  std::array<Nanoseconds, kResourceCount> spent_ns{};
  Nanoseconds lost_ns = 0;              // of busy_ns of kCompute: lost beside copies and gathers
  Nanoseconds window_ns = 0;            // wave_ns of rank 0
  Resource bound = Resource::kCompute;  // the busiest
  std::uint32_t chunks_per_block = 0;   // of the largest block
  std::vector<Figure> rates;            // H2D and, with a group, gather, as used

  [[nodiscard]] Nanoseconds exposed_ns() const;
  [[nodiscard]] double busy_share(Resource resource) const;
  [[nodiscard]] double spent_share(Resource resource) const;
};

// Codes: invalid_value. Throws LogicError when the simulated run breaks an oracle.
[[nodiscard]] Result<PredictResult> predict(const PredictRequest& request);

}  // namespace dlo::engine
