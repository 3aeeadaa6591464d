// Goal: a staged load issues pack, copy and their events chunk by chunk in the stated order, gives
// the block's bytes, packs the next chunk before this one is finished where that helps and never on
// the launching thread, and ends by name when a file shrinks.
// Method: a recording device for the order, a CPU device with its threads for the rest.
#include "hot_path/staged_transfer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>

#include "base/codes.h"
#include "platform/cpu/cpu_device.h"
#include "platform/cpu/thread_executor.h"
#include "platform/forwarding_device.h"
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

// Operations of a load into slot 1, for the log of a recording device.
class ExpectedLoad {
 public:
  explicit ExpectedLoad(std::int32_t block) : block_(block) {}

  void add(OpKind kind, StreamKind stream, Site site, std::int32_t slot, std::int32_t chunk = -1) {
    ops_.push_back({kind, stream, OpLabel{site, 0, block_, slot, chunk}, 0});
  }
  void copy(std::int32_t chunk) {
    add(OpKind::kCopy, StreamKind::kCopy, Site::kH2d, 1, chunk);
    ops_.back().bytes = 256;
  }
  // launch() would pack on the launching thread of an accelerator.
  void pack(std::int32_t staging, std::int32_t chunk) {
    add(OpKind::kLaunchHost, StreamKind::kPack, Site::kPack, staging, chunk);
  }
  void await_staging(std::int32_t staging, std::int32_t chunk) {
    add(OpKind::kWait, StreamKind::kPack, Site::kStagingFreeWait, staging, chunk);
  }
  // What follows the host function that finishes the chunk.
  void hand_on(std::int32_t staging, std::int32_t chunk) {
    add(OpKind::kRecord, StreamKind::kPack, Site::kPackedRecord, staging, chunk);
    add(OpKind::kWait, StreamKind::kCopy, Site::kPackedWait, staging, chunk);
    copy(chunk);
    add(OpKind::kRecord, StreamKind::kCopy, Site::kStagingFreeRecord, staging, chunk);
  }
  void expect_in(const std::vector<OpRecord>& log) const {
    ASSERT_EQ(log.size(), ops_.size());
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      EXPECT_TRUE(log[i] == ops_[i]) << "operation " << i << " is '" << op_text(log[i])
                                     << "', not '" << op_text(ops_[i]) << "'";
    }
  }

 private:
  std::int32_t block_;
  std::vector<OpRecord> ops_;
};

TEST(StagedTransfer, Load_PacksAndCopiesChunkByChunkThroughTheRing) {
  test::RecordingDevice device;
  StagedBlocks blocks({768, 256}, 256, 2);
  const auto transfer = blocks.make_transfer(device, nullptr);
  const auto slot = device.allocate_device(768, platform::MemoryPurpose::kSlot).value();
  transfer->load(BlockLoad{0, 0, 1, slot->span(), {90}, {91}});
  ExpectedLoad three(0);
  three.add(OpKind::kWait, StreamKind::kCopy, Site::kFreeWait, 1);
  three.await_staging(0, 0);
  three.pack(0, 0);
  three.hand_on(0, 0);
  three.await_staging(1, 1);
  three.pack(1, 1);
  three.hand_on(1, 1);
  three.await_staging(0, 2);
  three.pack(0, 2);
  three.hand_on(0, 2);
  three.add(OpKind::kRecord, StreamKind::kCopy, Site::kReadyRecord, 1);
  three.expect_in(device.log());

  device.clear();
  transfer->load(BlockLoad{0, 1, 1, slot->span(), {92}, {93}});
  ExpectedLoad one(1);
  one.add(OpKind::kWait, StreamKind::kCopy, Site::kFreeWait, 1);
  one.await_staging(1, 0);  // the ring goes on where it was
  one.pack(1, 0);
  one.hand_on(1, 0);
  one.add(OpKind::kRecord, StreamKind::kCopy, Site::kReadyRecord, 1);
  one.expect_in(device.log());
}

TEST(StagedTransfer,
     LoadWithWorkersAndThreeStagingChunks_BeginsAChunkBeforeTheOneBeforeIsFinished) {
  test::RecordingDevice device;
  platform::ThreadExecutor workers(2);
  StagedBlocks blocks({1024, 256}, 256, 3);
  const auto transfer = blocks.make_transfer(device, &workers);
  const auto slot = device.allocate_device(1024, platform::MemoryPurpose::kSlot).value();
  transfer->load(BlockLoad{0, 0, 1, slot->span(), {90}, {91}});
  ExpectedLoad four(0);
  four.add(OpKind::kWait, StreamKind::kCopy, Site::kFreeWait, 1);
  four.await_staging(0, 0);
  four.pack(0, -1);
  four.await_staging(1, 1);
  four.pack(0, 0);
  four.hand_on(0, 0);
  four.await_staging(2, 2);
  four.pack(1, 1);
  four.hand_on(1, 1);
  four.await_staging(0, 3);  // the copy of chunk 0, while that of chunk 1 may still run
  four.pack(2, 2);
  four.hand_on(2, 2);
  four.pack(0, 3);
  four.hand_on(0, 3);
  four.add(OpKind::kRecord, StreamKind::kCopy, Site::kReadyRecord, 1);
  four.expect_in(device.log());

  device.clear();
  transfer->load(BlockLoad{0, 1, 1, slot->span(), {92}, {93}});
  ExpectedLoad one(1);
  one.add(OpKind::kWait, StreamKind::kCopy, Site::kFreeWait, 1);
  one.await_staging(1, 0);
  one.pack(1, -1);
  one.pack(1, 0);
  one.hand_on(1, 0);
  one.add(OpKind::kRecord, StreamKind::kCopy, Site::kReadyRecord, 1);
  one.expect_in(device.log());
}

// A begin of its own would only put the end of a chunk behind one more copy.
TEST(StagedTransfer, TwoStagingChunksOrNoOtherWorker_NothingIsBegunAhead) {
  platform::ThreadExecutor alone(1);
  platform::ThreadExecutor workers(3);
  struct Case {
    std::size_t chunks;
    platform::Executor* workers;
    bool ahead;
  };
  for (const auto& [chunks, executor, ahead] :
       {Case{1, &workers, false}, Case{2, &workers, false}, Case{3, nullptr, false},
        Case{3, &alone, false}, Case{3, &workers, true}, Case{4, &workers, true}}) {
    test::RecordingDevice device;
    StagedBlocks blocks({1024}, 256, chunks);
    const auto transfer = blocks.make_transfer(device, executor);
    const auto slot = device.allocate_device(1024, platform::MemoryPurpose::kSlot).value();
    transfer->load(BlockLoad{0, 0, 1, slot->span(), {90}, {91}});
    std::size_t functions = 0;
    for (const auto& op : device.log()) {
      functions += op.kind == OpKind::kLaunchHost ? 1U : 0U;
    }
    EXPECT_EQ(functions, ahead ? 5U : 4U) << chunks << " staging chunks";
  }
}

TEST(StagedTransfer, SlotAfterALoad_HoldsTheBlockAndZeroPadding) {
  for (const std::size_t staging_chunks : {1U, 2U, 3U}) {
    SlotOnCpu slot(8192);
    StagedBlocks blocks({8192, 512, 4096}, 1024, staging_chunks);
    platform::ThreadExecutor workers(3);
    const auto transfer = blocks.make_transfer(*slot.device, &workers);
    for (std::uint32_t block = 0; block < 3; ++block) {
      const auto wanted = blocks.expected(block);
      transfer->load(slot.load(block, wanted.size()));
      ASSERT_TRUE(slot.wait().ok());
      EXPECT_EQ(slot.bytes(wanted.size()), wanted)
          << "block " << block << " by " << staging_chunks << " staging chunks";
    }
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

// Its first host wait ends early, as by a deadline that was too short.
class ImpatientDevice final : public platform::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  [[nodiscard]] Status wait_host(platform::EventId event, Deadline deadline,
                                 const OpLabel& label) override {
    if (!std::exchange(waited_, true)) {
      return refuse(codes::kDeadlineExceeded, "too early", "test", "none");
    }
    return ForwardingDevice::wait_host(event, deadline, label);
  }

 private:
  bool waited_ = false;
};

TEST(StagedTransfer, LoadThatWasCutShort_LeavesNothingToTheNextOne) {
  SlotOnCpu slot(1024);
  slot.device = std::make_unique<ImpatientDevice>(std::move(slot.device));
  platform::ThreadExecutor workers(2);
  StagedBlocks blocks({1024, 256}, 256, 3);
  const auto transfer = blocks.make_transfer(*slot.device, &workers, /*pinned=*/false);
  EXPECT_THROW(transfer->load(slot.load(0, 1024)), RunError);
  for (const std::uint32_t block : {1U, 0U}) {
    const auto wanted = blocks.expected(block);
    transfer->load(slot.load(block, wanted.size()));
    ASSERT_TRUE(slot.wait().ok());
    EXPECT_EQ(slot.bytes(wanted.size()), wanted) << "block " << block;
  }
}

// The workers are handed the next chunk before this one is finished, so that they never idle.
TEST(StagedTransfer, ChunkThatIsNotFinishedYet_TheNextOneIsPackedMeanwhile) {
  constexpr std::uint64_t kChunk = 2 * kMiB;  // four pieces
  SlotOnCpu slot(2 * kChunk);
  StagedBlocks blocks({2 * kChunk}, kChunk, 3);
  NotingExecutor workers(3);
  const auto transfer = blocks.make_transfer(*slot.device, &workers);
  test_support::Gate gate;
  blocks.tensors.when_asked = [&gate] { gate.pass(); };  // by the first chunk's finish
  transfer->load(slot.load(0, 2 * kChunk));
  const auto bound = Deadline::after(slot.clock.now(), 30 * kSecond);
  while (workers.ended() < 8 && !bound.expired(slot.clock.now())) {
    slot.clock.sleep(kMillisecond);
  }
  EXPECT_EQ(workers.ended(), 8U) << "pieces of both chunks";
  EXPECT_EQ(slot.bytes(256), std::vector<std::byte>(256)) << "the first chunk is not packed yet";
  gate.open();
  ASSERT_TRUE(slot.wait().ok());
  EXPECT_EQ(slot.bytes(2 * kChunk), blocks.expected(0));
}

// The device drops what is queued, the chunk that workers were handed stays with them.
TEST(StagedTransfer, DeviceThatFailsBehindABegin_SettleEndsWhatWorkersWereHanded) {
  constexpr std::uint64_t kChunk = 4 * kMiB;
  platform::ThreadExecutor workers(3);
  {
    SlotOnCpu slot(4 * kChunk);
    StagedBlocks blocks({4 * kChunk}, kChunk, 3);
    auto transfer = blocks.make_transfer(*slot.device, &workers);
    blocks.tensors.sound.store(false);  // the first finish fails, when the second chunk is begun
    transfer->load(slot.load(0, 4 * kChunk));
    EXPECT_FALSE(slot.wait().ok());
    EXPECT_FALSE(slot.device->synchronize(Deadline::after(slot.clock.now(), 30 * kSecond)).ok());
    transfer.reset();
    EXPECT_TRUE(
        blocks.packer->await_quiet(slot.clock, Deadline::after(slot.clock.now(), 30 * kSecond)));
    blocks.packer->settle();
  }  // a worker that still read would read what is gone
  std::atomic<int> ran{0};
  workers.parallel_for(3, [&ran](std::size_t) { ++ran; });
  EXPECT_EQ(ran.load(), 3);
}

TEST(StagedTransfer, ChunkLargerThanTheRings_IsALogicError) {
  test::RecordingDevice device;
  StagedBlocks blocks({1024}, 512, 2);
  static_cast<void>(blocks.make_transfer(device, nullptr));
  std::vector<std::byte> small(256);
  const ByteSpan chunk(small);
  EXPECT_THROW(StagedTransfer(device, blocks.packer, {{chunk, chunk}}), LogicError);
}

TEST(StagedTransfer, NoStagingChunk_IsALogicError) {
  test::RecordingDevice device;
  StagedBlocks blocks({1024}, 512, 2);
  static_cast<void>(blocks.make_transfer(device, nullptr));
  EXPECT_THROW(StagedTransfer(device, blocks.packer, {}), LogicError);
}

}  // namespace
}  // namespace dlo::hot_path
