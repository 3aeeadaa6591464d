#include "backend/transfer_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/codes.h"
#include "base/sha256.h"

namespace dlo::backend {

using contracts::Downgrade;
using contracts::EffectiveTransfer;
using contracts::ShardLayout;
using contracts::Transfer;

namespace {

EffectiveTransfer decide(const config::OffloadConfig& config, const PlacementPlan& placement,
                         std::uint32_t group_size) {
  EffectiveTransfer effective;
  effective.streamed_block_count = placement.block_count(Residency::kStreamed);
  effective.resident_block_count = placement.block_count(Residency::kResident);
  if (!wants_streaming(config)) {
    return effective;
  }
  if (effective.streamed_block_count > 0) {
    const bool gathers = config.dlo_use_allgather && group_size > 1;
    effective.transfer = gathers ? Transfer::kAllGather : Transfer::kRankLocal;
    effective.group_size = gathers ? group_size : 1;
    effective.chunk_bytes = gathers ? config.chunk_bytes : 0;
    effective.pinned = config.pin_cpu_memory;
    if (config.dlo_use_allgather && !gathers) {
      effective.downgrades.push_back(
          Downgrade{std::string(codes::kGroupSizeOne),
                    "AllGather was asked for and the weight group has one rank: rank-local"});
    }
    if (!config.pin_cpu_memory) {
      effective.downgrades.push_back(
          Downgrade{std::string(codes::kPinDisabled),
                    "pin_cpu_memory is off: the host copy is pageable memory"});
    }
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
                   const EffectiveTransfer& effective, std::uint32_t depth) {
  RingPlan ring;
  ring.dit = dit;
  ring.prefetch_depth = std::min(depth, static_cast<std::uint32_t>(placement.blocks.size()) - 1);
  for (const auto& block : placement.blocks) {
    ring.shards.emplace_back(block.layout.bytes(), effective.group_size, effective.chunk_bytes);
  }
  return ring;
}

MemoryPlan plan_memory(const PlacementPlan& placement, const TransferPlan& plan,
                       std::uint32_t input_slots) {
  MemoryPlan memory;
  for (const auto& dit : placement.dits) {
    memory.non_block_bytes += dit.non_block.layout.bytes();
    for (const auto& block : dit.blocks) {
      memory.resident_bytes += block.residency == Residency::kResident ? block.layout.bytes() : 0;
    }
  }
  std::uint64_t largest_piece_bytes = 0;
  for (const auto& ring : plan.rings) {
    memory.slot_count = std::max(memory.slot_count, ring.prefetch_depth + 1);
    for (const auto& shard : ring.shards) {
      memory.slot_bytes = std::max(memory.slot_bytes, shard.padded_bytes());
      memory.host_store_bytes += shard.shard_bytes();
      largest_piece_bytes = std::max(largest_piece_bytes, shard.largest_piece_bytes());
    }
  }
  if (plan.effective.transfer == Transfer::kAllGather) {
    memory.input_slot_count = input_slots;
    memory.input_slot_bytes = largest_piece_bytes;
  }
  memory.host_store_pinned = plan.effective.pinned;
  return memory;
}

TrafficPlan plan_traffic(const PlacementPlan& placement, const std::vector<RingPlan>& rings) {
  TrafficPlan traffic;
  traffic.per_forward.resize(placement.dits.size());
  for (const auto& ring : rings) {
    for (std::size_t block = 0; block < ring.shards.size(); ++block) {
      traffic.per_forward[ring.dit] += ring.block_traffic(block);
    }
  }
  if (!rings.empty()) {
    for (std::size_t block = 0; block <= rings.front().prefetch_depth; ++block) {
      traffic.prime += rings.front().block_traffic(block);
    }
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
  if (shard.group_size() == 1) {
    traffic.h2d_calls = shard.padded_bytes() > 0 ? 1 : 0;
    return traffic;
  }
  traffic.h2d_calls = shard.chunks().size();
  traffic.gather_calls = shard.chunks().size();
  traffic.gather_bytes = shard.padded_bytes() - shard.shard_bytes();
  return traffic;
}

TransferPlan plan_transfer(const config::OffloadConfig& config, const PlacementPlan& placement,
                           std::uint32_t group_size) {
  TransferPlan plan;
  plan.effective = decide(config, placement, group_size);
  for (std::size_t dit = 0; dit < placement.dits.size(); ++dit) {
    if (placement.dits[dit].streamed()) {
      plan.rings.push_back(
          plan_ring(dit, placement.dits[dit], plan.effective, config.prefetch_depth));
      plan.effective.prefetch_depth =
          std::max(plan.effective.prefetch_depth, plan.rings.back().prefetch_depth);
    }
  }
  plan.memory = plan_memory(placement, plan, config.input_slots);
  plan.traffic = plan_traffic(placement, plan.rings);
  return plan;
}

std::string schedule_digest(const TransferPlan& plan) {
  Sha256 tables;
  for (const auto& ring : plan.rings) {
    tables.update(fmt::format("ring {} depth {}\n", ring.dit, ring.prefetch_depth));
    for (const auto& shard : ring.shards) {
      tables.update(shard.digest_text() + "\n");
    }
  }
  const auto& effective = plan.effective;
  return fmt::format("{} W={} depth={} chunk={} slots={} streamed={} tables={}",
                     contracts::transfer_name(effective.transfer), effective.group_size,
                     effective.prefetch_depth, effective.chunk_bytes, plan.memory.slot_count,
                     effective.streamed_block_count, tables.hex_digest());
}

}  // namespace dlo::backend
