#include "backend/transfer_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/codes.h"
#include "base/sha256.h"
#include "config/offload_options.h"

namespace dlo::backend {

using contracts::Downgrade;
using contracts::EffectiveTransfer;
using contracts::ShardLayout;
using contracts::Transfer;

namespace {

std::uint64_t largest_offloaded_bytes(const PlacementPlan& placement) {
  std::uint64_t largest = 0;
  for (const auto& dit : placement.dits) {
    for (const auto& block : dit.blocks) {
      largest = std::max(largest, dit.offloaded() ? block.layout.bytes() : 0);
    }
  }
  return largest;
}

// Of the staging ring, at least two chunks of which it must hold.
std::uint64_t ring_bytes(const config::OffloadConfig& config, std::uint64_t largest_block_bytes) {
  const auto bytes = config.staging_bytes != 0
                         ? config.staging_bytes
                         : std::min(2 * largest_block_bytes, kStagingBytesMax);
  return std::max(bytes, 2 * kTensorAlignmentBytes);
}

std::uint64_t staging_chunk(const config::OffloadConfig& config,
                            std::uint64_t largest_block_bytes) {
  const auto wanted = config.staging_chunk_bytes != 0
                          ? config.staging_chunk_bytes
                          : std::uint64_t{config::kDefaultStagingChunkBytes};
  const auto half = ring_bytes(config, largest_block_bytes) / 2;
  const auto needed = std::max(largest_block_bytes, kTensorAlignmentBytes);
  return std::min({wanted, needed, half / kTensorAlignmentBytes * kTensorAlignmentBytes});
}

void decide_transfer(const config::OffloadConfig& config, const PlacementPlan& placement,
                     std::uint32_t group_size, EffectiveTransfer& effective) {
  const bool gathers = config.dlo_use_allgather && group_size > 1;
  const bool mapped = effective.backing != contracts::Backing::kOrdinary;
  effective.transfer =
      gathers ? Transfer::kAllGather : (mapped ? Transfer::kStaged : Transfer::kRankLocal);
  effective.group_size = gathers ? group_size : 1;
  effective.pinned = config.pin_cpu_memory;
  if (gathers) {
    effective.chunk_bytes = config.chunk_bytes;
  } else if (mapped) {
    effective.chunk_bytes = staging_chunk(config, largest_offloaded_bytes(placement));
  }
  if (config.dlo_use_allgather && !gathers) {
    effective.downgrades.push_back(
        Downgrade{std::string(codes::kGroupSizeOne),
                  "AllGather was asked for and the weight group has one rank: rank-local"});
  }
  if (!config.pin_cpu_memory) {
    effective.downgrades.push_back(Downgrade{
        std::string(codes::kPinDisabled),
        fmt::format("pin_cpu_memory is off: the {} pageable memory",
                    effective.transfer == Transfer::kStaged ? "staging ring is" : "host copy is")});
  }
}

bool has_leading(const PlacementPlan& placement) {
  return placement.block_count(Residency::kStageResident) > 0;
}

EffectiveTransfer decide(const config::OffloadConfig& config, const PlacementPlan& placement,
                         std::uint32_t group_size, contracts::Backing backing) {
  EffectiveTransfer effective;
  effective.backing = backing;
  effective.streamed_block_count = placement.block_count(Residency::kStreamed);
  effective.resident_block_count = placement.block_count(Residency::kResident) +
                                   placement.block_count(Residency::kStageResident);
  if (!wants_streaming(config)) {
    return effective;
  }
  if (effective.streamed_block_count > 0 || has_leading(placement)) {
    decide_transfer(config, placement, group_size, effective);
  }
  if (config.dlo_resident_layers > 0 && !has_leading(placement)) {
    effective.downgrades.push_back(
        Downgrade{std::string(codes::kResidentLayersUnavailable),
                  "resident layers were asked for and the model's plan names no DiT for them"});
  }
  for (const auto& dit : placement.dits) {
    if (dit.blocks.size() == 1) {
      effective.downgrades.push_back(
          Downgrade{std::string(codes::kSingleBlockResident),
                    fmt::format("'{}' has a single block: it is resident", dit.name)});
    }
  }
  return effective;
}

RingPlan plan_ring(std::size_t dit, const DitPlacement& placement,
                   const EffectiveTransfer& effective) {
  RingPlan ring;
  ring.dit = dit;
  ring.leading = placement.leading_count();
  for (const auto& block : placement.blocks) {
    ring.shards.emplace_back(block.layout.bytes(), effective.group_size, effective.chunk_bytes);
  }
  return ring;
}

// Indices of the rings that stream and belong to `dit` or to a child of it, however deep, in the
// order of the walk: children before their parent.
void append_walk(const std::string& dit, const PlacementPlan& placement,
                 const std::vector<RingPlan>& rings, std::vector<std::size_t>& walk) {
  for (const auto& child : placement.dits) {
    if (child.parent == dit) {
      append_walk(child.name, placement, rings, walk);
    }
  }
  const auto own = std::find_if(rings.begin(), rings.end(), [&](const RingPlan& ring) {
    return ring.streams() && placement.dits[ring.dit].name == dit;
  });
  if (own != rings.end()) {
    walk.push_back(static_cast<std::size_t>(own - rings.begin()));
  }
}

// A ring outside every chain would have no observer.
void check_chains(const PlacementPlan& placement, const std::vector<RingPlan>& rings,
                  const std::vector<ChainPlan>& chains) {
  for (std::size_t ring = 0; ring < rings.size(); ++ring) {
    const auto holds = [ring](const ChainPlan& chain) {
      return std::count(chain.rings.begin(), chain.rings.end(), ring) > 0;
    };
    require(!rings[ring].streams() || std::any_of(chains.begin(), chains.end(), holds),
            fmt::format("'{}' streams and no chain walks it: end its line of parents with a DiT "
                        "that has none",
                        placement.dits[rings[ring].dit].name));
  }
}

// DiTs without a parent take turns as the request says: a chain each.
std::vector<ChainPlan> plan_chains(const PlacementPlan& placement,
                                   const std::vector<RingPlan>& rings, std::uint32_t depth) {
  std::vector<ChainPlan> chains;
  for (const auto& dit : placement.dits) {
    ChainPlan chain;
    const auto is_parent = [&](const DitPlacement& other) { return other.name == dit.parent; };
    if (std::none_of(placement.dits.begin(), placement.dits.end(), is_parent)) {
      append_walk(dit.name, placement, rings, chain.rings);
    }
    std::uint32_t streamed = 0;
    for (const auto ring : chain.rings) {
      streamed += static_cast<std::uint32_t>(rings[ring].shards.size()) - rings[ring].leading;
    }
    if (streamed > 0) {
      chain.prefetch_depth = std::min(depth, streamed - 1);
      chains.push_back(std::move(chain));
    }
  }
  check_chains(placement, rings, chains);
  return chains;
}

MemoryPlan plan_memory(const config::OffloadConfig& config, const PlacementPlan& placement,
                       const TransferPlan& plan) {
  MemoryPlan memory;
  for (const auto& dit : placement.dits) {
    memory.non_block_bytes += dit.non_block.layout.bytes();
    for (const auto& block : dit.blocks) {
      memory.resident_bytes += block.residency == Residency::kStreamed ? 0 : block.layout.bytes();
      memory.stage_resident_bytes +=
          block.residency == Residency::kStageResident ? block.layout.bytes() : 0;
    }
  }
  std::uint64_t largest_piece_bytes = 0;
  for (const auto& chain : plan.chains) {
    memory.slot_count = std::max(memory.slot_count, chain.prefetch_depth + 1);
  }
  for (const auto& ring : plan.rings) {
    for (std::size_t block = 0; block < ring.shards.size(); ++block) {
      const auto& shard = ring.shards[block];
      memory.slot_bytes =
          std::max(memory.slot_bytes, block < ring.leading ? 0 : shard.padded_bytes());
      memory.host_store_bytes += shard.shard_bytes();
      largest_piece_bytes = std::max(largest_piece_bytes, shard.largest_piece_bytes());
    }
  }
  if (plan.effective.transfer == Transfer::kAllGather) {
    memory.input_slot_count = config.input_slots;
    memory.input_slot_bytes = largest_piece_bytes;
  } else if (plan.effective.transfer == Transfer::kStaged) {
    memory.host_store_bytes = 0;
    memory.staging_chunk_bytes = plan.effective.chunk_bytes;
    memory.staging_chunk_count =
        ring_bytes(config, largest_offloaded_bytes(placement)) / memory.staging_chunk_bytes;
  }
  memory.host_pinned = plan.effective.pinned;
  return memory;
}

// What fills the slots of a chain before its first forward: the blocks that it runs first.
Traffic plan_prime(const ChainPlan& chain, const std::vector<RingPlan>& rings) {
  Traffic traffic;
  std::uint32_t loads = 0;
  for (const auto index : chain.rings) {
    const auto& ring = rings[index];
    for (std::size_t block = ring.leading; block < ring.shards.size(); ++block) {
      traffic += loads <= chain.prefetch_depth ? ring.block_traffic(block) : Traffic{};
      ++loads;
    }
  }
  return traffic;
}

TrafficPlan plan_traffic(const PlacementPlan& placement, const std::vector<RingPlan>& rings,
                         const std::vector<ChainPlan>& chains) {
  TrafficPlan traffic;
  traffic.per_forward.resize(placement.dits.size());
  for (const auto& ring : rings) {
    for (std::size_t block = 0; block < ring.shards.size(); ++block) {
      auto& total = block < ring.leading ? traffic.stage_entry : traffic.per_forward[ring.dit];
      total += ring.block_traffic(block);
    }
  }
  if (!chains.empty()) {
    traffic.prime = plan_prime(chains.front(), rings);
  }
  return traffic;
}

}  // namespace

bool wants_streaming(const config::OffloadConfig& config) {
  return config.strategy == config::OffloadStrategy::kDistributedLayerwise;
}

Traffic RingPlan::block_traffic(std::size_t block) const {
  const auto& shard = shards.at(block);
  Traffic traffic;
  traffic.h2d_bytes = shard.shard_bytes();
  traffic.h2d_calls = shard.chunks().size();
  if (shard.group_size() == 1) {
    return traffic;
  }
  traffic.gather_calls = shard.chunks().size();
  traffic.gather_bytes = shard.padded_bytes() - shard.shard_bytes();
  return traffic;
}

TransferPlan plan_transfer(const config::OffloadConfig& config, const PlacementPlan& placement,
                           std::uint32_t group_size, contracts::Backing backing) {
  TransferPlan plan;
  plan.effective = decide(config, placement, group_size, backing);
  for (std::size_t dit = 0; dit < placement.dits.size(); ++dit) {
    if (placement.dits[dit].offloaded()) {
      plan.rings.push_back(plan_ring(dit, placement.dits[dit], plan.effective));
    }
  }
  plan.chains = plan_chains(placement, plan.rings, config.prefetch_depth);
  for (const auto& chain : plan.chains) {
    plan.effective.prefetch_depth = std::max(plan.effective.prefetch_depth, chain.prefetch_depth);
  }
  plan.memory = plan_memory(config, placement, plan);
  plan.traffic = plan_traffic(placement, plan.rings, plan.chains);
  return plan;
}

std::string schedule_digest(const TransferPlan& plan) {
  Sha256 tables;
  for (const auto& ring : plan.rings) {
    tables.update(fmt::format("ring {} leading {}\n", ring.dit, ring.leading));
    for (const auto& shard : ring.shards) {
      tables.update(shard.digest_text() + "\n");
    }
  }
  for (const auto& chain : plan.chains) {
    tables.update(
        fmt::format("walk {} depth {}\n", fmt::join(chain.rings, " "), chain.prefetch_depth));
  }
  const auto& effective = plan.effective;
  return fmt::format("{} W={} depth={} chunk={} slots={} streamed={} tables={}",
                     contracts::transfer_name(effective.transfer), effective.group_size,
                     effective.prefetch_depth, effective.chunk_bytes, plan.memory.slot_count,
                     effective.streamed_block_count, tables.hex_digest());
}

}  // namespace dlo::backend
