#include "backend/host_store.h"

#include <utility>

#include "backend/tensor_packer.h"

namespace dlo::backend {

namespace {

Status pack_block(const BlockPlacement& block, const ShardWriter& writer,
                  contracts::HostTensors& tensors) {
  for (const auto& entry : block.layout.entries()) {
    const auto& spec = block.spec->tensors[entry.tensor_index];
    auto packed =
        for_each_host_run(spec, tensors, [&](std::uint64_t offset_bytes, ConstByteSpan bytes) {
          writer.write(entry.offset_bytes + offset_bytes, bytes);
        });
    if (packed.ok()) {
      packed = contracts::check_intact(tensors, "tensor '" + spec.name + "'");
    }
    if (!packed.ok()) {
      return packed;
    }
    tensors.release(spec.name);
  }
  return {};
}

}  // namespace

Result<HostStore> HostStore::allocate(platform::Device& device, const TransferPlan& plan) {
  const auto bytes = plan.memory.host_store_bytes;
  auto buffer = plan.memory.host_pinned
                    ? device.allocate_pinned(bytes, platform::MemoryPurpose::kHostShard)
                    : device.allocate_pageable(bytes, platform::MemoryPurpose::kHostShard);
  if (!buffer.ok()) {
    return buffer.refusal();
  }
  return HostStore(std::move(buffer).value());
}

Status HostStore::pack(const PlacementPlan& placement, const TransferPlan& plan,
                       std::uint32_t group_rank, contracts::HostTensors& tensors) {
  std::uint64_t offset_bytes = 0;
  for (const auto& ring : plan.rings) {
    for (std::size_t block = 0; block < ring.shards.size(); ++block) {
      const auto& shard = ring.shards[block];
      const ShardWriter writer(buffer_->span().subspan(offset_bytes, shard.shard_bytes()), shard,
                               group_rank);
      auto packed = pack_block(placement.dits[ring.dit].blocks[block], writer, tensors);
      if (!packed.ok()) {
        return packed;
      }
      offset_bytes += shard.shard_bytes();
    }
  }
  return {};
}

hot_path::RingSources HostStore::sources(const TransferPlan& plan) const {
  hot_path::RingSources sources;
  std::uint64_t offset_bytes = 0;
  for (const auto& ring : plan.rings) {
    auto& blocks = sources.emplace_back();
    for (const auto& shard : ring.shards) {
      blocks.push_back(
          hot_path::BlockSource{buffer_->span().subspan(offset_bytes, shard.shard_bytes()), shard});
      offset_bytes += shard.shard_bytes();
    }
  }
  return sources;
}

}  // namespace dlo::backend
