#include "hot_path/all_gather_transfer.h"

#include <set>
#include <utility>

namespace dlo::hot_path {

using platform::OpLabel;
using platform::Site;
using platform::StreamKind;

namespace {

// Labels of input-slot sites carry the input slot in place of the output slot.
OpLabel input_label(const BlockLoad& load, Site site, std::size_t input, std::size_t chunk) {
  auto label = load.label(site, static_cast<std::int32_t>(chunk));
  label.slot = static_cast<std::int32_t>(input);
  return label;
}

}  // namespace

AllGatherTransfer::AllGatherTransfer(platform::Device& device, comm::Communicator& communicator,
                                     RingSources sources,
                                     const std::vector<DeviceSpan>& input_slots)
    : device_(device), communicator_(communicator), sources_(std::move(sources)) {
  require(!input_slots.empty(), "AllGather needs at least one input slot");
  for (const auto& span : input_slots) {
    inputs_.push_back(InputSlot{span, device.create_event(), device.create_event()});
  }
  const auto group_size = static_cast<std::uint32_t>(communicator.size());
  for (const auto& ring : sources_) {
    for (const auto& source : ring) {
      require(source.shard.group_size() == group_size &&
                  source.host.size() == source.shard.shard_bytes(),
              "an AllGather source is this rank's shard of the block");
      require(source.shard.largest_piece_bytes() <= inputs_.front().span.bytes,
              "an input slot is smaller than the largest piece");
    }
  }
}

std::vector<comm::PieceGather> AllGatherTransfer::gathers_into(
    const std::vector<DeviceSpan>& slots) const {
  std::set<std::pair<std::uint64_t, std::uint64_t>> places;  // offset in the slot, piece bytes
  for (const auto& ring : sources_) {
    for (const auto& source : ring) {
      for (const auto& chunk : source.shard.chunks()) {
        places.emplace(chunk.block_offset_bytes, chunk.piece_bytes);
      }
    }
  }
  const auto ranks = static_cast<std::uint64_t>(communicator_.size());
  std::vector<comm::PieceGather> gathers;
  for (const auto& [offset, bytes] : places) {
    for (const auto& slot : slots) {
      for (const auto& input : inputs_) {
        gathers.push_back({input.span.subspan(0, bytes), slot.subspan(offset, ranks * bytes)});
      }
    }
  }
  return gathers;
}

Status AllGatherTransfer::prepare(const std::vector<DeviceSpan>& slots) {
  return communicator_.prepare_gathers(gathers_into(slots));
}

DeviceSpan AllGatherTransfer::land(const BlockLoad& load, const BlockSource& source,
                                   std::size_t chunk) {
  const auto& input = inputs_[next_input_];
  const auto& piece = source.shard.chunks()[chunk];
  const auto span = input.span.subspan(0, piece.piece_bytes);
  device_.wait(StreamKind::kCopy, input.input_free,
               input_label(load, Site::kInputFreeWait, next_input_, chunk));
  device_.copy_to_device(StreamKind::kCopy, span,
                         source.host.subspan(piece.shard_offset_bytes, piece.piece_bytes),
                         load.label(Site::kH2d, static_cast<std::int32_t>(chunk)));
  device_.record(input.landed, StreamKind::kCopy,
                 input_label(load, Site::kLandedRecord, next_input_, chunk));
  return span;
}

void AllGatherTransfer::load(const BlockLoad& load) {
  const auto& source = sources_[load.ring][load.block];
  const auto& chunks = source.shard.chunks();
  device_.wait(StreamKind::kComm, load.free, load.label(Site::kFreeWait));
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    const auto piece = land(load, source, c);
    const auto& input = inputs_[next_input_];
    device_.wait(StreamKind::kComm, input.landed,
                 input_label(load, Site::kLandedWait, next_input_, c));
    const auto chunk_bytes = chunks[c].piece_bytes * source.shard.group_size();
    communicator_.all_gather(device_, StreamKind::kComm, piece,
                             load.slot_span.subspan(chunks[c].block_offset_bytes, chunk_bytes),
                             load.label(Site::kGather, static_cast<std::int32_t>(c)));
    device_.record(input.input_free, StreamKind::kComm,
                   input_label(load, Site::kInputFreeRecord, next_input_, c));
    next_input_ = (next_input_ + 1) % inputs_.size();
  }
  device_.record(load.ready, StreamKind::kComm, load.label(Site::kReadyRecord));
}

}  // namespace dlo::hot_path
