// Owns: CalibratedCosts, how long the simulator's operations take on a calibrated machine, and the
// miniature of a model: the same blocks, chunks and ranks with a few bytes in each chunk.
// Must not own: figures (calibration.h), order or time (platform/sim).
// The costs know the real chunk table and find an operation's real size by its label, so real sizes
// run through the real backend and hot path without real memory. Deterministic: nothing is drawn.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "contracts/block_layout.h"
#include "engine/simulation/calibration.h"
#include "platform/sim/cost_model.h"
#include "synthetic/synthetic_shape.h"

namespace dlo::engine {

// One block at its real size.
struct CostedBlock {
  contracts::ShardLayout shard;  // the real chunk table
  Nanoseconds compute_ns = 0;    // alone on the device
};

// The figures that a topology uses.
struct CostRates {
  Figure h2d_bytes_per_s;     // with as many ranks copying as the topology has
  Figure gather_bytes_per_s;  // value 0 without a group
};

class CalibratedCosts final : public platform::sim::CostModel {
 public:
  // `other_compute_ns` is what a forward computes outside its blocks, before the first.
  CalibratedCosts(const Calibration& calibration, const CostRates& rates,
                  std::vector<CostedBlock> blocks, Nanoseconds other_compute_ns);

  [[nodiscard]] Nanoseconds start_delay(const platform::sim::OpFacts& op,
                                        SeededRandom& random) const override;
  [[nodiscard]] Nanoseconds duration(const platform::sim::OpFacts& op,
                                     SeededRandom& random) const override;
  [[nodiscard]] Nanoseconds lost(const platform::sim::OpFacts& op,
                                 const platform::sim::RanBeside& beside) const override;
  [[nodiscard]] Nanoseconds host_cost(const platform::sim::OpFacts& op) const override;
  [[nodiscard]] bool explores() const override { return false; }

  // What moving `block` to one rank takes, nothing beside it.
  [[nodiscard]] Nanoseconds h2d_ns(std::size_t block) const;
  [[nodiscard]] Nanoseconds gather_ns(std::size_t block) const;
  [[nodiscard]] const std::vector<CostedBlock>& blocks() const { return blocks_; }

 private:
  [[nodiscard]] Nanoseconds copy_time(std::uint64_t bytes) const;
  [[nodiscard]] Nanoseconds gather_time(std::uint64_t bytes) const;

  Calibration calibration_;
  CostRates rates_;
  std::vector<CostedBlock> blocks_;
  Nanoseconds other_compute_ns_;
};

// Chunk size of the miniature of a model whose chunk size is `chunk_bytes`.
[[nodiscard]] std::uint64_t miniature_chunk_bytes(std::uint64_t chunk_bytes);
// One ring with as many blocks, chunks and pieces as `blocks` has; 256 bytes a piece.
[[nodiscard]] synthetic::SyntheticShape miniature_shape(const std::vector<CostedBlock>& blocks);

}  // namespace dlo::engine
