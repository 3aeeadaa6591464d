// Goal: a staged load issues pack, copy and their events chunk by chunk in the stated order, gives
// the block's bytes, never packs on the launching thread, and ends by name when a file shrinks.
// Method: a recording device for the order, a CPU device with its threads for the rest.
#include "hot_path/staged_transfer.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/codes.h"
#include "platform/cpu/cpu_device.h"
#include "platform/cpu/thread_executor.h"
#include "platform/posix/steady_clock.h"
#include "tests/support/gate.h"
#include "tests/unit/hot_path/recording_device.h"
#include "tests/unit/hot_path/staged_fixture.h"

namespace dlo::hot_path {
namespace {

using platform::OpLabel;
using platform::Site;
using platform::StreamKind;
using test::NotingExecutor;
using test::OpKind;
using test::OpRecord;
using test::StagedBlocks;

// One slot of a CPU device and its events.
class SlotOnCpu {
 public:
  explicit SlotOnCpu(std::uint64_t bytes) {
    buffer_ = device->allocate_device(bytes, platform::MemoryPurpose::kSlot).value();
  }
  [[nodiscard]] BlockLoad load(std::uint32_t block, std::uint64_t bytes) const {
    return BlockLoad{0, block, 0, buffer_->span().subspan(0, bytes), ready_, free_};
  }
  [[nodiscard]] Status wait() {
    return device->wait_host(ready_, Deadline::after(clock.now(), 30 * kSecond),
                             OpLabel{Site::kDrain});
  }
  [[nodiscard]] std::vector<std::byte> bytes(std::size_t count) const {
    const auto* data = buffer_->span().data;
    return std::vector<std::byte>(data, data + count);
  }

  platform::SteadyClock clock;
  std::unique_ptr<FailureSignal> signal = make_local_failure_signal();
  std::unique_ptr<platform::Device> device = platform::make_cpu_device({}, clock, *signal);

 private:
  std::unique_ptr<platform::DeviceBuffer> buffer_;
  platform::EventId ready_ = device->create_event();
  platform::EventId free_ = device->create_event();
};

TEST(StagedTransfer, Load_PacksAndCopiesChunkByChunkThroughTheRing) {
  test::RecordingDevice device;
  StagedBlocks blocks({768, 512}, 256, 2);
  const auto transfer = blocks.make_transfer(device, nullptr);
  const auto slot = device.allocate_device(768, platform::MemoryPurpose::kSlot).value();
  transfer->load(BlockLoad{0, 0, 1, slot->span(), {90}, {91}});
  std::vector<OpRecord> expected;
  const auto whole = [](Site site) { return OpLabel{site, 0, 0, 1, -1}; };
  expected.push_back({OpKind::kWait, StreamKind::kCopy, whole(Site::kFreeWait), 0});
  for (std::int32_t chunk = 0; chunk < 3; ++chunk) {
    const auto at = [chunk](Site site) { return OpLabel{site, 0, 0, chunk % 2, chunk}; };
    expected.push_back({OpKind::kWait, StreamKind::kPack, at(Site::kStagingFreeWait), 0});
    // launch() would pack on the launching thread of an accelerator.
    expected.push_back({OpKind::kLaunchHost, StreamKind::kPack, at(Site::kPack), 0});
    expected.push_back({OpKind::kRecord, StreamKind::kPack, at(Site::kPackedRecord), 0});
    expected.push_back({OpKind::kWait, StreamKind::kCopy, at(Site::kPackedWait), 0});
    expected.push_back(
        {OpKind::kCopy, StreamKind::kCopy, OpLabel{Site::kH2d, 0, 0, 1, chunk}, 256});
    expected.push_back({OpKind::kRecord, StreamKind::kCopy, at(Site::kStagingFreeRecord), 0});
  }
  expected.push_back({OpKind::kRecord, StreamKind::kCopy, whole(Site::kReadyRecord), 0});
  ASSERT_EQ(device.log().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(device.log()[i] == expected[i])
        << "operation " << i << " is '" << op_text(device.log()[i]) << "', not '"
        << op_text(expected[i]) << "'";
  }
  device.clear();
  transfer->load(BlockLoad{0, 1, 0, slot->span(), {92}, {93}});
  EXPECT_EQ(device.log()[1].label.slot, 1) << "the ring goes on where it was";
}

TEST(StagedTransfer, SlotAfterALoad_HoldsTheBlockAndZeroPadding) {
  SlotOnCpu slot(8192);
  StagedBlocks blocks({8192, 512, 4096}, 1024, 3);
  platform::ThreadExecutor workers(3);
  const auto transfer = blocks.make_transfer(*slot.device, &workers);
  for (std::uint32_t block = 0; block < 3; ++block) {
    const auto wanted = blocks.expected(block);
    transfer->load(slot.load(block, wanted.size()));
    ASSERT_TRUE(slot.wait().ok());
    EXPECT_EQ(slot.bytes(wanted.size()), wanted) << "block " << block;
  }
}

TEST(StagedTransfer, LargeChunk_IsPackedByWorkersAndNeverByTheLaunchingThread) {
  constexpr std::uint64_t kBytes = 8 * kMiB;
  SlotOnCpu slot(kBytes);
  StagedBlocks blocks({kBytes}, kBytes / 2, 2);
  NotingExecutor workers(4);
  const auto transfer = blocks.make_transfer(*slot.device, &workers);
  transfer->load(slot.load(0, kBytes));
  ASSERT_TRUE(slot.wait().ok());
  EXPECT_EQ(slot.bytes(kBytes), blocks.expected(0));
  EXPECT_FALSE(workers.seen().empty());
  EXPECT_FALSE(workers.seen().contains(std::this_thread::get_id()));
}

TEST(StagedTransfer, PackStreamThatIsHeldUp_DoesNotHoldUpTheLaunchingThread) {
  SlotOnCpu slot(4096);
  StagedBlocks blocks({4096}, 256, 2);
  const auto transfer = blocks.make_transfer(*slot.device, nullptr);
  test_support::Gate gate;
  slot.device->launch_host(
      StreamKind::kPack, [&gate] { gate.pass(); }, OpLabel{Site::kPack});
  transfer->load(slot.load(0, 4096));  // returns although nothing can be packed
  EXPECT_EQ(slot.bytes(4096), std::vector<std::byte>(4096));
  gate.open();
  ASSERT_TRUE(slot.wait().ok());
  EXPECT_EQ(slot.bytes(4096), blocks.expected(0));
}

// An accelerator's runtime may read pageable memory when a copy is issued.
TEST(StagedTransfer, PageableStaging_IsCopiedOnlyOnceItIsPacked) {
  SlotOnCpu slot(4096);
  StagedBlocks blocks({4096}, 512, 2);
  const auto transfer = blocks.make_transfer(*slot.device, nullptr, /*pinned=*/false);
  transfer->load(slot.load(0, 4096));
  ASSERT_TRUE(slot.wait().ok());
  EXPECT_EQ(slot.bytes(4096), blocks.expected(0));

  test::RecordingDevice recording;
  const auto recorded = blocks.make_transfer(recording, nullptr, /*pinned=*/false);
  const auto target = recording.allocate_device(4096, platform::MemoryPurpose::kSlot).value();
  recorded->load(BlockLoad{0, 0, 0, target->span(), {90}, {91}});
  std::size_t host_waits = 0;
  for (std::size_t i = 0; i + 1 < recording.log().size(); ++i) {
    const auto& op = recording.log()[i];
    if (op.kind == OpKind::kWait && op.label.site == Site::kPackedWait &&
        recording.log()[i + 1].kind == OpKind::kCopy) {
      ++host_waits;
      EXPECT_EQ(recording.log()[i - 1].label.site, Site::kPackedWait) << "the stream waits too";
    }
  }
  EXPECT_EQ(host_waits, 8U);
}

TEST(StagedTransfer, PageableStagingOfAFailedDevice_ThrowsItsCode) {
  test::RecordingDevice device;
  StagedBlocks blocks({1024}, 512, 2);
  const auto transfer = blocks.make_transfer(device, nullptr, /*pinned=*/false);
  const auto slot = device.allocate_device(1024, platform::MemoryPurpose::kSlot).value();
  device.fail(refuse(codes::kCopyFailed, "broken link", "copy", "none"));
  try {
    transfer->load(BlockLoad{0, 0, 0, slot->span(), {90}, {91}});
    FAIL() << "load() went on over a failed device";
  } catch (const RunError& error) {
    EXPECT_EQ(error.code(), codes::kCopyFailed);
  }
}

TEST(StagedTransfer, FileThatShrinks_FailsTheDeviceByNameWithItsBlock) {
  SlotOnCpu slot(1024);
  StagedBlocks blocks({1024, 1024}, 256, 2);
  const auto transfer = blocks.make_transfer(*slot.device, nullptr);
  blocks.tensors.sound.store(false);
  transfer->load(slot.load(1, 1024));
  const auto status = slot.wait();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.refusal().code, codes::kMappingTruncated);
  const auto raised = slot.signal->poll();
  ASSERT_TRUE(raised.has_value());
  EXPECT_EQ(raised->code, codes::kMappingTruncated);
  EXPECT_EQ(raised->block, 1);
}

TEST(StagedTransfer, DestroyedWithPacksQueued_DropsThem) {
  SlotOnCpu slot(4096);
  StagedBlocks blocks({4096}, 256, 2);
  auto transfer = blocks.make_transfer(*slot.device, nullptr);
  test_support::Gate gate;
  slot.device->launch_host(
      StreamKind::kPack, [&gate] { gate.pass(); }, OpLabel{Site::kPack});
  transfer->load(slot.load(0, 4096));
  transfer.reset();
  blocks.tensors.sound.store(false);  // whoever still reads would fail the device
  gate.open();
  EXPECT_TRUE(slot.wait().ok());
  EXPECT_EQ(slot.bytes(4096), std::vector<std::byte>(4096)) << "the staging ring was never filled";
}

TEST(StagedTransfer, ChunkLargerThanTheRings_IsALogicError) {
  test::RecordingDevice device;
  StagedBlocks blocks({1024}, 512, 2);
  static_cast<void>(blocks.make_transfer(device, nullptr));
  std::vector<std::byte> small(256);
  EXPECT_THROW(StagedTransfer(device, blocks.packer, {{ByteSpan(small)}}), LogicError);
  EXPECT_THROW(StagedTransfer(device, blocks.packer, {}), LogicError);
}

}  // namespace
}  // namespace dlo::hot_path
