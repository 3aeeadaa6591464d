#include "hot_path/staged_transfer.h"

#include <utility>

#include "platform/clock.h"

namespace dlo::hot_path {

namespace {

// From there on a chunk can be begun while one is finished and another is copied.
constexpr std::size_t kChunksToWorkAhead = 3;

}  // namespace

using platform::OpLabel;
using platform::Site;
using platform::StreamKind;

StagedTransfer::StagedTransfer(platform::Device& device, std::shared_ptr<ChunkPacker> packer,
                               const StagingRing& staging)
    : device_(device),
      pinned_(staging.pinned),
      timeout_(staging.timeout),
      packer_(std::move(packer)),
      ahead_(staging.chunks.size() >= kChunksToWorkAhead && packer_->works_ahead()) {
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

OpLabel StagedTransfer::label_at(const BlockLoad& load, Site site, const ChunkPlace& at) {
  auto label = load.label(site, static_cast<std::int32_t>(at.chunk));
  label.slot = static_cast<std::int32_t>(at.index);
  return label;
}

ChunkPacker::Job StagedTransfer::claim(const BlockLoad& load, const ChunkPlace& at) {
  const auto& staging = staging_[at.index];
  const auto& chunks = packer_->sources()[load.ring][load.block].shard.chunks();
  device_.wait(StreamKind::kPack, staging.free, label_at(load, Site::kStagingFreeWait, at));
  return {load.ring, load.block, at.chunk, staging.span.first(chunks[at.chunk].piece_bytes)};
}

void StagedTransfer::begin_first(const BlockLoad& load) {
  const ChunkPlace at{0, next_};
  auto label = label_at(load, Site::kPack, at);
  label.chunk = -1;  // none is finished here
  device_.launch_host(
      StreamKind::kPack,
      [packer = packer_, job = claim(load, at)] {
        packer->finish_begun();
        packer->begin(job);
      },
      label);
}

void StagedTransfer::pack_plain(const BlockLoad& load, const ChunkPlace& at) {
  device_.launch_host(
      StreamKind::kPack,
      [packer = packer_, job = claim(load, at)] {
        packer->begin(job);
        packer->finish();
      },
      label_at(load, Site::kPack, at));
}

void StagedTransfer::pack_ahead(const BlockLoad& load, const ChunkPlace& at, bool last) {
  const auto label = label_at(load, Site::kPack, at);
  if (last) {
    device_.launch_host(
        StreamKind::kPack, [packer = packer_] { packer->finish(); }, label);
  } else {
    const ChunkPlace following{at.chunk + 1, (at.index + 1) % staging_.size()};
    device_.launch_host(
        StreamKind::kPack,
        [packer = packer_, job = claim(load, following)] { packer->begin_and_finish_before(job); },
        label);
  }
}

void StagedTransfer::load(const BlockLoad& load) {
  const auto& chunks = packer_->sources()[load.ring][load.block].shard.chunks();
  device_.wait(StreamKind::kCopy, load.free, load.label(Site::kFreeWait));
  if (ahead_ && !chunks.empty()) {
    begin_first(load);
  }
  for (std::uint32_t c = 0; c < chunks.size(); ++c) {
    const ChunkPlace at{c, next_};
    const auto& staging = staging_[next_];
    const auto host = staging.span.first(chunks[c].piece_bytes);
    if (ahead_) {
      pack_ahead(load, at, c + 1 == chunks.size());
    } else {
      pack_plain(load, at);
    }
    device_.record(staging.packed, StreamKind::kPack, label_at(load, Site::kPackedRecord, at));
    await_packed(staging, label_at(load, Site::kPackedWait, at));
    device_.copy_to_device(StreamKind::kCopy,
                           load.slot_span.subspan(chunks[c].block_offset_bytes, host.size()), host,
                           load.label(Site::kH2d, static_cast<std::int32_t>(c)));
    device_.record(staging.free, StreamKind::kCopy, label_at(load, Site::kStagingFreeRecord, at));
    next_ = (next_ + 1) % staging_.size();
  }
  device_.record(load.ready, StreamKind::kCopy, load.label(Site::kReadyRecord));
}

}  // namespace dlo::hot_path
