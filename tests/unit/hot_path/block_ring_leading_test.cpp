// Goal: blocks at the head of a ring that somebody else keeps on the device are left alone: no
// load, no slot, no event; the walk wraps around those behind them. Method: one ring on a recording
// device.
#include <gtest/gtest.h>

#include "tests/unit/hot_path/ring_fixture.h"

namespace dlo::hot_path {
namespace {

using test::OpKind;
using test::PointerBinding;

constexpr std::uint32_t kBlocks = 5;
constexpr std::uint32_t kLeading = 2;

class RingWithLeadingBlocks : public testing::Test {
 protected:
  RingWithLeadingBlocks() {
    std::vector<contracts::BlockBinding*> pointers;
    for (std::uint32_t b = 0; b < kBlocks; ++b) {
      sources_[0].push_back({host_, contracts::ShardLayout(host_.size(), 1, 0)});
      pointers.push_back(&bindings_[b]);
    }
    transfer_ = std::make_unique<RankLocalTransfer>(device_, sources_);
    ring_ = std::make_unique<BlockRing>(
        device_, pool_, *transfer_, nullptr,
        RingOptions{.prefetch_depth = 1, .on_miss = MissPolicy::kRepair, .leading = kLeading},
        pointers);
  }

  void walk(const std::vector<std::uint32_t>& order) {
    for (const auto block : order) {
      ring_->before_block(block);
      ring_->after_block(block);
    }
  }
  [[nodiscard]] std::vector<std::int32_t> loaded() const {
    std::vector<std::int32_t> blocks;
    for (const auto& op : device_.log()) {
      if (op.kind == OpKind::kCopy) {
        blocks.push_back(op.label.block);
      }
    }
    return blocks;
  }

  test::RecordingDevice device_;
  std::vector<std::byte> host_ = std::vector<std::byte>(256);
  std::vector<std::byte> slots_ = std::vector<std::byte>(512);
  SlotPool pool_{device_, {DeviceSpan{slots_.data(), 256}, DeviceSpan{slots_.data() + 256, 256}}};
  RingSources sources_ = RingSources(1);
  std::array<PointerBinding, kBlocks> bindings_;
  std::unique_ptr<RankLocalTransfer> transfer_;
  std::unique_ptr<BlockRing> ring_;
};

TEST_F(RingWithLeadingBlocks, Walks_LoadTheOthersInTurn) {
  ring_->prime();
  walk(test::in_order(kBlocks));
  walk(test::in_order(kBlocks));
  EXPECT_EQ(loaded(), (std::vector<std::int32_t>{2, 3, 4, 2, 3, 4, 2, 3}));
  EXPECT_EQ(ring_->counts().repairs, 0U);
}

TEST_F(RingWithLeadingBlocks, LeadingBlock_KeepsItsBindingAndIssuesNothing) {
  ring_->prime();
  device_.clear();
  bindings_[0].at = 7;
  walk({0, 1});
  EXPECT_TRUE(device_.log().empty());
  EXPECT_EQ(bindings_[0].at, 7);
}

TEST_F(RingWithLeadingBlocks, EntryThatWasNeverPrimed_RepairsAtTheFirstStreamedBlock) {
  walk(test::in_order(kBlocks));
  EXPECT_EQ(ring_->counts().repairs, 1U);
  EXPECT_EQ(loaded().front(), 2);
}

TEST_F(RingWithLeadingBlocks, NothingToStream_IsALogicError) {
  EXPECT_THROW(
      BlockRing(device_, pool_, *transfer_, nullptr, RingOptions{.leading = 1}, {&bindings_[0]}),
      LogicError);
}

}  // namespace
}  // namespace dlo::hot_path
