// Owns: RingFixture: rings of equal or uneven blocks on a RecordingDevice, in one chain or in one
// each, with slots, input slots, host bytes and bindings of their own; what the hot path's unit
// tests share.
// Must not own: expectations. Failure: LogicError of the code under test passes through.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "hot_path/all_gather_transfer.h"
#include "hot_path/block_ring.h"
#include "hot_path/rank_local_transfer.h"
#include "tests/support/pointer_binding.h"
#include "tests/unit/hot_path/recording_device.h"

namespace dlo::test {

struct FixtureOptions {
  std::vector<std::vector<std::uint64_t>> rings;  // block bytes by ring
  bool chained = false;                           // one chain, walked in the order of `rings`
  std::uint32_t depth = 1;
  std::uint32_t group_size = 1;  // above 1: AllGather
  std::uint64_t chunk_bytes = 0;
  std::uint32_t input_slots = 2;
  hot_path::MissPolicy on_miss = hot_path::MissPolicy::kRepair;
  std::vector<std::uint32_t> leading = {};  // by ring; none where the list ends
};

class RingFixture {
 public:
  explicit RingFixture(const FixtureOptions& options)
      : communicator_(0, static_cast<int>(options.group_size)) {
    slots_ = plan(options);
    pool_ = std::make_unique<hot_path::SlotPool>(device, slots_);
    if (options.group_size > 1) {
      const auto inputs = buffers(options.input_slots, largest_piece_);
      transfer_ =
          std::make_unique<hot_path::AllGatherTransfer>(device, communicator_, sources_, inputs);
    } else {
      transfer_ = std::make_unique<hot_path::RankLocalTransfer>(device, sources_);
    }
    for (const auto& walk : walks_of(options)) {
      std::uint32_t streamed = 0;
      for (const auto& ring : walk) {
        streamed += ring.block_count - ring.leading;
      }
      chains_.push_back(std::make_unique<hot_path::PrefetchChain>(
          *pool_, *transfer_,
          hot_path::ChainOptions{static_cast<std::uint32_t>(chains_.size()),
                                 std::min(options.depth, streamed - 1), options.on_miss},
          walk));
      for (const auto& ring : walk) {
        add_ring(ring);
      }
    }
  }

  [[nodiscard]] hot_path::BlockRing& ring(std::size_t r = 0) { return *rings_.at(r); }
  [[nodiscard]] hot_path::PrefetchChain& chain(std::size_t c = 0) { return *chains_.at(c); }
  [[nodiscard]] RecordingCommunicator& communicator() { return communicator_; }
  [[nodiscard]] hot_path::BlockTransfer& transfer() { return *transfer_; }
  [[nodiscard]] PointerBinding& binding(std::size_t r, std::size_t block) {
    return *bindings_.at(r).at(block);
  }
  [[nodiscard]] hot_path::SlotPool& pool() { return *pool_; }
  [[nodiscard]] const std::vector<DeviceSpan>& slots() const { return slots_; }

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

  // Ring and block of the H2D copies of the log, in order, one entry a load (chunk 0 or no chunk).
  using RingBlock = std::pair<std::int32_t, std::int32_t>;
  [[nodiscard]] std::vector<RingBlock> loads() const {
    std::vector<RingBlock> loads;
    for (const auto& op : device.log()) {
      if (op.kind == OpKind::kCopy && op.label.chunk <= 0) {
        loads.emplace_back(op.label.ring, op.label.block);
      }
    }
    return loads;
  }
  // The blocks of loads(), for fixtures of one ring.
  [[nodiscard]] std::vector<std::int32_t> loaded_blocks() const {
    std::vector<std::int32_t> blocks;
    for (const auto& [ring, block] : loads()) {
      blocks.push_back(block);
    }
    return blocks;
  }

  RecordingDevice device;
  std::unique_ptr<FailureSignal> signal = make_local_failure_signal();

 private:
  static std::vector<std::vector<hot_path::ChainedRing>> walks_of(const FixtureOptions& options) {
    std::vector<std::vector<hot_path::ChainedRing>> walks;
    for (std::uint32_t r = 0; r < options.rings.size(); ++r) {
      if (r == 0 || !options.chained) {
        walks.emplace_back();
      }
      const auto blocks = static_cast<std::uint32_t>(options.rings[r].size());
      walks.back().push_back({r, blocks, r < options.leading.size() ? options.leading[r] : 0});
    }
    return walks;
  }

  void add_ring(const hot_path::ChainedRing& ring) {
    auto& bindings = bindings_.emplace_back();
    std::vector<contracts::BlockBinding*> pointers;
    for (std::uint32_t b = 0; b < ring.block_count; ++b) {
      bindings.push_back(std::make_unique<PointerBinding>());
      pointers.push_back(bindings.back().get());
    }
    rings_.push_back(std::make_unique<hot_path::BlockRing>(device, *pool_, *chains_.back(),
                                                           signal.get(), ring, pointers));
  }

  std::vector<DeviceSpan> plan(const FixtureOptions& options) {
    std::uint64_t slot_bytes = 0;
    std::uint32_t slot_count = 0;
    std::uint32_t all_blocks = 0;
    for (std::uint32_t r = 0; r < options.rings.size(); ++r) {
      const auto& ring = options.rings[r];
      const auto leading = r < options.leading.size() ? options.leading[r] : 0;
      const auto blocks = static_cast<std::uint32_t>(ring.size()) - leading;
      all_blocks += blocks;
      slot_count = std::max(slot_count,
                            std::min(options.depth, (options.chained ? all_blocks : blocks) - 1));
      auto& sources = sources_.emplace_back();
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
  std::vector<std::vector<std::unique_ptr<PointerBinding>>> bindings_;  // by ring
  std::vector<DeviceSpan> slots_;
  std::unique_ptr<hot_path::SlotPool> pool_;
  std::unique_ptr<hot_path::BlockTransfer> transfer_;
  std::vector<std::unique_ptr<hot_path::PrefetchChain>> chains_;
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
