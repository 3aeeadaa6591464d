// Owns: RingFixture: one or two rings of equal or uneven blocks on a RecordingDevice, with slots,
// input slots, host bytes and bindings of their own; what the hot path's unit tests share.
// Must not own: expectations. Failure: LogicError of the code under test passes through.
#pragma once

#include <memory>
#include <vector>

#include "hot_path/all_gather_transfer.h"
#include "hot_path/block_ring.h"
#include "hot_path/rank_local_transfer.h"
#include "tests/support/pointer_binding.h"
#include "tests/unit/hot_path/recording_device.h"

namespace dlo::test {

struct FixtureOptions {
  std::vector<std::vector<std::uint64_t>> rings;  // block bytes by ring
  std::uint32_t depth = 1;
  std::uint32_t group_size = 1;  // above 1: AllGather
  std::uint64_t chunk_bytes = 0;
  std::uint32_t input_slots = 2;
  hot_path::MissPolicy on_miss = hot_path::MissPolicy::kRepair;
};

class RingFixture {
 public:
  explicit RingFixture(const FixtureOptions& options)
      : communicator_(0, static_cast<int>(options.group_size)) {
    const auto slots = plan(options);
    pool_ = std::make_unique<hot_path::SlotPool>(device, slots);
    if (options.group_size > 1) {
      const auto inputs = buffers(options.input_slots, largest_piece_);
      transfer_ =
          std::make_unique<hot_path::AllGatherTransfer>(device, communicator_, sources_, inputs);
    } else {
      transfer_ = std::make_unique<hot_path::RankLocalTransfer>(device, sources_);
    }
    for (std::uint32_t r = 0; r < options.rings.size(); ++r) {
      std::vector<contracts::BlockBinding*> pointers;
      for (std::size_t b = 0; b < options.rings[r].size(); ++b) {
        bindings_.push_back(std::make_unique<PointerBinding>());
        pointers.push_back(bindings_.back().get());
      }
      const auto depth = std::min(options.depth, static_cast<std::uint32_t>(pointers.size()) - 1);
      rings_.push_back(std::make_unique<hot_path::BlockRing>(
          device, *pool_, *transfer_, signal.get(),
          hot_path::RingOptions{r, depth, options.on_miss}, pointers));
    }
  }

  [[nodiscard]] hot_path::BlockRing& ring(std::size_t r = 0) { return *rings_.at(r); }
  [[nodiscard]] hot_path::SlotPool& pool() { return *pool_; }

  // before_block, launch, after_block of each block of `order`.
  void walk(const std::vector<std::uint32_t>& order, std::size_t r = 0) {
    for (const auto block : order) {
      ring(r).before_block(block);
      device.launch(platform::StreamKind::kCompute, [] {},
                    {platform::Site::kCompute, static_cast<std::int32_t>(r),
                     static_cast<std::int32_t>(block), -1, -1});
      ring(r).after_block(block);
    }
  }

  // Blocks that H2D copies of the log carried, in order, one entry a load (chunk 0 or no chunk).
  [[nodiscard]] std::vector<std::int32_t> loaded_blocks() const {
    std::vector<std::int32_t> blocks;
    for (const auto& op : device.log()) {
      if (op.kind == OpKind::kCopy && op.label.chunk <= 0) {
        blocks.push_back(op.label.block);
      }
    }
    return blocks;
  }

  RecordingDevice device;
  std::unique_ptr<FailureSignal> signal = make_local_failure_signal();

 private:
  std::vector<DeviceSpan> plan(const FixtureOptions& options) {
    std::uint64_t slot_bytes = 0;
    std::uint32_t slot_count = 0;
    for (const auto& ring : options.rings) {
      auto& sources = sources_.emplace_back();
      slot_count = std::max(slot_count,
                            std::min(options.depth, static_cast<std::uint32_t>(ring.size()) - 1));
      for (const auto bytes : ring) {
        contracts::ShardLayout shard(bytes, options.group_size, options.chunk_bytes);
        host_.push_back(std::make_unique<std::vector<std::byte>>(shard.shard_bytes()));
        slot_bytes = std::max(slot_bytes, shard.padded_bytes());
        largest_piece_ = std::max(largest_piece_, shard.largest_piece_bytes());
        sources.push_back(hot_path::BlockSource{*host_.back(), shard});
      }
    }
    return buffers(slot_count + 1, slot_bytes);
  }

  std::vector<DeviceSpan> buffers(std::uint32_t count, std::uint64_t bytes) {
    std::vector<DeviceSpan> spans;
    for (std::uint32_t i = 0; i < count; ++i) {
      buffers_.push_back(device.allocate_device(bytes, platform::MemoryPurpose::kSlot).value());
      spans.push_back(buffers_.back()->span());
    }
    return spans;
  }

  RecordingCommunicator communicator_;
  std::uint64_t largest_piece_ = 0;
  hot_path::RingSources sources_;
  std::vector<std::unique_ptr<std::vector<std::byte>>> host_;
  std::vector<std::unique_ptr<platform::DeviceBuffer>> buffers_;
  std::vector<std::unique_ptr<PointerBinding>> bindings_;
  std::unique_ptr<hot_path::SlotPool> pool_;
  std::unique_ptr<hot_path::BlockTransfer> transfer_;
  std::vector<std::unique_ptr<hot_path::BlockRing>> rings_;
};

// 0, 1, ..., count - 1.
[[nodiscard]] inline std::vector<std::uint32_t> in_order(std::uint32_t count) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < count; ++i) {
    order.push_back(i);
  }
  return order;
}

}  // namespace dlo::test
