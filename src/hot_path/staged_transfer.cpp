#include "hot_path/staged_transfer.h"

#include <utility>

#include "platform/clock.h"

namespace dlo::hot_path {

using platform::OpLabel;
using platform::Site;
using platform::StreamKind;

StagedTransfer::StagedTransfer(platform::Device& device, std::shared_ptr<ChunkPacker> packer,
                               const StagingRing& staging)
    : device_(device),
      pinned_(staging.pinned),
      timeout_(staging.timeout),
      packer_(std::move(packer)) {
  require(!staging.chunks.empty(), "a staged transfer needs at least one staging chunk");
  for (const auto& span : staging.chunks) {
    staging_.push_back(StagingChunk{span, device.create_event(), device.create_event()});
  }
  for (const auto& ring : packer_->sources()) {
    for (const auto& block : ring) {
      require(block.shard.largest_piece_bytes() <= staging.chunks.front().size(),
              "a staging chunk is smaller than the largest piece");
    }
  }
}

void StagedTransfer::await_packed(const StagingChunk& staging, const OpLabel& label) {
  device_.wait(StreamKind::kCopy, staging.packed, label);
  if (pinned_) {
    return;
  }
  const auto deadline = Deadline::after(device_.clock().now(), timeout_);
  if (auto packed = device_.wait_host(staging.packed, deadline, label); !packed.ok()) {
    throw RunError(packed.refusal());
  }
}

void StagedTransfer::load(const BlockLoad& load) {
  const auto& chunks = packer_->sources()[load.ring][load.block].shard.chunks();
  device_.wait(StreamKind::kCopy, load.free, load.label(Site::kFreeWait));
  for (std::uint32_t c = 0; c < chunks.size(); ++c) {
    const auto& staging = staging_[next_];
    const auto at_chunk = [&](Site site) {
      auto label = load.label(site, static_cast<std::int32_t>(c));
      label.slot = static_cast<std::int32_t>(next_);
      return label;
    };
    const auto host = staging.span.first(chunks[c].piece_bytes);
    device_.wait(StreamKind::kPack, staging.free, at_chunk(Site::kStagingFreeWait));
    device_.launch_host(
        StreamKind::kPack,
        [packer = packer_, job = ChunkPacker::Job{load.ring, load.block, c, host}] {
          packer->pack(job);
        },
        at_chunk(Site::kPack));
    device_.record(staging.packed, StreamKind::kPack, at_chunk(Site::kPackedRecord));
    await_packed(staging, at_chunk(Site::kPackedWait));
    device_.copy_to_device(StreamKind::kCopy,
                           load.slot_span.subspan(chunks[c].block_offset_bytes, host.size()), host,
                           load.label(Site::kH2d, static_cast<std::int32_t>(c)));
    device_.record(staging.free, StreamKind::kCopy, at_chunk(Site::kStagingFreeRecord));
    next_ = (next_ + 1) % staging_.size();
  }
  device_.record(load.ready, StreamKind::kCopy, load.label(Site::kReadyRecord));
}

}  // namespace dlo::hot_path
