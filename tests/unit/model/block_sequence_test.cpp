// Goal: blocks are launched in ring order between their observer's two calls, with the views that
// they had at launch. Method: an observer and a compute that write what happens into one list; a
// queued device stands for a compute stream that lags behind.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/codes.h"
#include "contracts/block_layout.h"
#include "model/block_sequence.h"
#include "tests/support/inline_device.h"

namespace dlo::model {
namespace {

using Events = std::vector<std::string>;

// A ring of blocks of one tensor each, every block with two places.
class BlockSequenceTest : public testing::Test,
                          public BlockCompute,
                          public contracts::BlockObserver {
 protected:
  static constexpr std::uint32_t kBlocks = 3;

  BlockSequenceTest() {
    blocks_.resize(kBlocks);
    for (std::uint32_t block = 0; block < kBlocks; ++block) {
      contracts::TensorSpec tensor;
      tensor.name = "weight";
      tensor.shape = {4};
      blocks_[block].name = "transformer.blocks." + std::to_string(block);
      blocks_[block].tensors = {tensor};
      bindings_.push_back(std::make_unique<TorchBlockBinding>(blocks_[block]));
      const contracts::BlockLayout layout(blocks_[block]);
      for (std::uint32_t place = 0; place < 2; ++place) {
        buffers_.push_back(
            memory_.allocate_device(layout.bytes(), platform::MemoryPurpose::kSlot).value());
        bindings_.back()->add_place(place, buffers_.back()->span(), layout);
      }
    }
  }

  [[nodiscard]] BlockSequence sequence() const {
    std::vector<const TorchBlockBinding*> pointers;
    for (const auto& binding : bindings_) {
      pointers.push_back(binding.get());
    }
    return {5, pointers};
  }
  void bind_all() {
    for (auto& binding : bindings_) {
      binding->bind(0);
    }
  }

  void compute_block(std::uint32_t block, const BlockViews& views, DitCall&) override {
    events_.push_back("compute " + std::to_string(block));
    computed_views_.push_back(&views);
  }
  void before_block(std::uint32_t block) override {
    events_.push_back("before " + std::to_string(block));
    bindings_[block]->bind(block % 2);
  }
  void after_block(std::uint32_t block) override {
    events_.push_back("after " + std::to_string(block));
    bindings_[block]->bind_placeholder();
  }

  test::InlineDevice memory_;
  std::vector<contracts::BlockSpec> blocks_;
  std::vector<std::unique_ptr<platform::DeviceBuffer>> buffers_;
  std::vector<std::unique_ptr<TorchBlockBinding>> bindings_;
  DitCall call_;
  Events events_;
  std::vector<const BlockViews*> computed_views_;
};

TEST_F(BlockSequenceTest, WithObserver_CallsAroundEachLaunchInRingOrder) {
  test::InlineDevice device;
  BlockSequence blocks = sequence();
  blocks.set_observer(this);
  blocks.run(device, *this, call_);
  EXPECT_EQ(events_, (Events{"before 0", "compute 0", "after 0", "before 1", "compute 1", "after 1",
                             "before 2", "compute 2", "after 2"}));
}

TEST_F(BlockSequenceTest, WithoutObserver_RunsTheSameBlocks) {
  test::InlineDevice device;
  bind_all();
  sequence().run(device, *this, call_);
  EXPECT_EQ(events_, (Events{"compute 0", "compute 1", "compute 2"}));
}

TEST_F(BlockSequenceTest, LaggingCompute_ReadsTheViewsOfItsLaunch) {
  test::InlineDevice device(test::InlineMode::kQueued);
  BlockSequence blocks = sequence();
  blocks.set_observer(this);
  blocks.run(device, *this, call_);
  EXPECT_EQ(events_, (Events{"before 0", "after 0", "before 1", "after 1", "before 2", "after 2"}));
  std::vector<const BlockViews*> bound_at_launch;
  for (std::uint32_t block = 0; block < kBlocks; ++block) {
    bindings_[block]->bind(block % 2);
    bound_at_launch.push_back(bindings_[block]->current().get());
    bindings_[block]->bind(1 - block % 2);  // rebinding does not disturb what is enqueued
  }
  device.run_queued();
  EXPECT_EQ(computed_views_, bound_at_launch);
}

TEST_F(BlockSequenceTest, Labels_NameComputeRingAndBlock) {
  test::InlineDevice device;
  bind_all();
  sequence().run(device, *this, call_);
  ASSERT_EQ(device.launched().size(), kBlocks);
  for (std::uint32_t block = 0; block < kBlocks; ++block) {
    EXPECT_EQ(device.launched()[block].site, platform::Site::kCompute);
    EXPECT_EQ(device.launched()[block].ring, 5);
    EXPECT_EQ(device.launched()[block].block, static_cast<std::int32_t>(block));
  }
}

TEST_F(BlockSequenceTest, BlockAtPlaceholder_NamedErrorAndNothingLaunchedForIt) {
  test::InlineDevice device;
  bind_all();
  bindings_[1]->bind_placeholder();
  try {
    sequence().run(device, *this, call_);
    FAIL() << "a placeholder was launched";
  } catch (const RunError& error) {
    EXPECT_EQ(error.code(), codes::kPlaceholderRead);
    EXPECT_EQ(error.refusal().where, "transformer.blocks.1");
  }
  EXPECT_EQ(events_, Events{"compute 0"});
}

}  // namespace
}  // namespace dlo::model
