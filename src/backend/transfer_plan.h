// Owns: TransferPlan: what this rank really does with a placement: effective transfer with every
// downgrade, chunk tables, depths, and the figures of I3 and I4 that follow from them; and the
// schedule digest that the weight group agrees on.
// Must not own: placement (placement_plan.h), buffers. Pure values.
#pragma once

#include <string>
#include <vector>

#include "backend/placement_plan.h"
#include "backend/traffic_plan.h"
#include "config/offload_config.h"
#include "contracts/block_layout.h"
#include "contracts/effective_transfer.h"

namespace dlo::backend {

// By default. What is packed is still in a processor's caches when it is copied, if the ring is
// small enough for them; benchmarks/pack.cpp packs into rings of several sizes.
inline constexpr std::uint64_t kStagingBytesMax = 64 * kMiB;

// One offloaded DiT. Ring index = position among the offloaded DiTs.
struct RingPlan {
  std::size_t dit = 0;        // index into the table
  std::uint32_t leading = 0;  // blocks at the head that are resident while the stage runs
  std::vector<contracts::ShardLayout> shards;  // by block, leading ones included

  [[nodiscard]] bool streams() const { return leading < shards.size(); }

  // What loading one block costs.
  [[nodiscard]] Traffic block_traffic(std::size_t block) const;
};

// Rings that a forward walks one after the other: those of a DiT's children, then its own.
struct ChainPlan {
  std::vector<std::size_t> rings;  // that stream, by index, in the order of the walk
  std::uint32_t prefetch_depth = 1;
};

struct TransferPlan {
  contracts::EffectiveTransfer effective;
  std::vector<RingPlan> rings;
  std::vector<ChainPlan> chains;  // every ring that streams is in one
  MemoryPlan memory;
  TrafficPlan traffic;
};

// Whether this configuration streams blocks at all (else the backend leaves the model resident).
[[nodiscard]] bool wants_streaming(const config::OffloadConfig& config);

// `group_size` is the size of the weight group, 1 without one; `backing` what the loader's tensors
// lie in: blocks stay in mapped files unless an AllGather shards them. LogicError when the parents
// of a DiT that streams close on themselves.
[[nodiscard]] TransferPlan plan_transfer(const config::OffloadConfig& config,
                                         const PlacementPlan& placement, std::uint32_t group_size,
                                         contracts::Backing backing);

// Short text that is equal on two ranks exactly when they would issue the same gathers in the same
// order: effective transfer and a SHA-256 over all chunk tables and chains (I5).
[[nodiscard]] std::string schedule_digest(const TransferPlan& plan);

}  // namespace dlo::backend
