#include "backend/staging_store.h"

#include <utility>

#include "backend/tensor_packer.h"

namespace dlo::backend {

StagingStore::StagingStore(std::unique_ptr<platform::HostBuffer> buffer, const MemoryPlan& memory)
    : buffer_(std::move(buffer)) {
  for (std::uint64_t chunk = 0; chunk < memory.staging_chunk_count; ++chunk) {
    chunks_.push_back(
        buffer_->span().subspan(chunk * memory.staging_chunk_bytes, memory.staging_chunk_bytes));
  }
}

Result<StagingStore> StagingStore::allocate(platform::Device& device, const TransferPlan& plan) {
  const auto bytes = plan.memory.staging_bytes();
  auto buffer = plan.memory.host_pinned
                    ? device.allocate_pinned(bytes, platform::MemoryPurpose::kStaging)
                    : device.allocate_pageable(bytes, platform::MemoryPurpose::kStaging);
  if (!buffer.ok()) {
    return buffer.refusal();
  }
  return StagingStore(std::move(buffer).value(), plan.memory);
}

Result<hot_path::PackTable> make_pack_table(const BlockPlacement& block, std::uint64_t block_bytes,
                                            const contracts::HostTensors& tensors) {
  std::vector<hot_path::PackRun> runs;
  for (const auto& entry : block.layout.entries()) {
    const auto& spec = block.spec->tensors[entry.tensor_index];
    auto read =
        for_each_host_run(spec, tensors, [&](std::uint64_t offset_bytes, ConstByteSpan bytes) {
          runs.push_back({entry.offset_bytes + offset_bytes, bytes.data(), bytes.size()});
        });
    if (!read.ok()) {
      return read.refusal();
    }
  }
  return hot_path::PackTable(std::move(runs), block_bytes);
}

Result<hot_path::StagedSources> make_staged_sources(const PlacementPlan& placement,
                                                    const TransferPlan& plan,
                                                    const contracts::HostTensors& tensors) {
  hot_path::StagedSources sources;
  for (const auto& ring : plan.rings) {
    auto& blocks = sources.emplace_back();
    for (std::size_t block = 0; block < ring.shards.size(); ++block) {
      const auto& shard = ring.shards[block];
      auto table =
          make_pack_table(placement.dits[ring.dit].blocks[block], shard.padded_bytes(), tensors);
      if (!table.ok()) {
        return table.refusal();
      }
      blocks.push_back({std::move(table).value(), shard});
    }
  }
  return sources;
}

}  // namespace dlo::backend
