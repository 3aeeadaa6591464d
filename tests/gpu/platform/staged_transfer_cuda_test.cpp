// Goal: a staged load on a GPU gives the block's bytes, is packed by host threads in stream order
// without holding up the launching thread, and ends by name when a file shrinks.
// Method: small blocks through a ring of few chunks; a gate holds the pack stream back.
#include <gtest/gtest.h>

#include <thread>

#include "base/codes.h"
#include "platform/cuda/cuda_device.h"
#include "platform/cuda/cuda_inventory.h"
#include "platform/posix/steady_clock.h"
#include "tests/support/gate.h"
#include "tests/unit/hot_path/staged_fixture.h"

namespace dlo::hot_path {
namespace {

using platform::OpLabel;
using platform::Site;
using platform::StreamKind;

constexpr std::uint64_t kBlockBytes = 4 * kMiB;
constexpr std::uint64_t kChunkBytes = kMiB;

class StagedOnCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (platform::cuda_device_count() == 0) {
      GTEST_SKIP() << "no CUDA device can be used on this machine";
    }
    device_ = platform::make_cuda_device({}, clock_, *signal_);
    transfer_ = blocks_.make_transfer(*device_, &workers_);
    slot_ = device_->allocate_device(kBlockBytes, platform::MemoryPurpose::kSlot).value();
    host_ = device_->allocate_pinned(kBlockBytes, platform::MemoryPurpose::kOther).value();
    ready_ = device_->create_event();
    free_ = device_->create_event();
  }

  void load(std::uint32_t block) { transfer_->load({0, block, 0, slot_->span(), ready_, free_}); }
  // Brings the slot back behind the load.
  [[nodiscard]] Status fetch() {
    device_->wait(StreamKind::kCompute, ready_, OpLabel{Site::kReadyWait});
    device_->copy_to_host(StreamKind::kCompute, host_->span(), slot_->span(),
                          OpLabel{Site::kOutput});
    device_->record(free_, StreamKind::kCompute, OpLabel{Site::kFreeRecord});
    return device_->synchronize(Deadline::after(clock_.now(), 30 * kSecond));
  }
  [[nodiscard]] std::vector<std::byte> bytes() const {
    return {host_->span().begin(), host_->span().end()};
  }

  platform::SteadyClock clock_;
  std::unique_ptr<FailureSignal> signal_ = make_local_failure_signal();
  test::NotingExecutor workers_{4};
  test::StagedBlocks blocks_{{kBlockBytes, kBlockBytes, kBlockBytes}, kChunkBytes, 3};
  std::unique_ptr<platform::Device> device_;
  std::unique_ptr<StagedTransfer> transfer_;
  std::unique_ptr<platform::DeviceBuffer> slot_;
  std::unique_ptr<platform::HostBuffer> host_;
  platform::EventId ready_;
  platform::EventId free_;
};

TEST_F(StagedOnCuda, LoadsInTurn_GiveTheBlocksBytes) {
  for (const std::uint32_t block : {0U, 2U, 1U, 0U}) {
    load(block);
    ASSERT_TRUE(fetch().ok());
    EXPECT_EQ(bytes(), blocks_.expected(block)) << "block " << block;
  }
  EXPECT_FALSE(workers_.seen().empty());
  EXPECT_FALSE(workers_.seen().contains(std::this_thread::get_id()));
}

TEST_F(StagedOnCuda, PackStreamHeldUp_LoadReturnsAndTheSlotIsNotReady) {
  test_support::Gate gate;
  device_->launch_host(
      StreamKind::kPack, [&gate] { gate.pass(); }, OpLabel{Site::kPack});
  load(1);
  EXPECT_FALSE(device_->query(ready_));
  gate.open();
  ASSERT_TRUE(fetch().ok());
  EXPECT_EQ(bytes(), blocks_.expected(1));
}

TEST_F(StagedOnCuda, FileThatShrinks_FailsTheDeviceByName) {
  blocks_.tensors.sound.store(false);
  load(0);
  const auto status = fetch();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.refusal().code, codes::kMappingTruncated);
}

}  // namespace
}  // namespace dlo::hot_path
