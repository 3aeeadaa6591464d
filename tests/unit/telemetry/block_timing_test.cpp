// Goal: block timing tells each block's compute, copy, gather, exposed and host time from the marks
// of one forward, says nothing while off, allocates nothing while on, and its pool has an end.
// Method: a real CPU device under a clock that tasks of the streams move, so that every figure is
// known; operator new counts.
#include "telemetry/block_timing.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>

#include "platform/cpu/cpu_device.h"
#include "telemetry/timing_decorators.h"
#include "tests/support/allocation_counter.h"

namespace dlo::telemetry {
namespace {

using platform::OpLabel;
using platform::Site;
using platform::StreamKind;

class HandClock : public platform::Clock {
 public:
  [[nodiscard]] Nanoseconds now() const override { return now_.load(); }
  void sleep(Nanoseconds duration) override { now_.fetch_add(duration); }
  [[nodiscard]] std::string wall_time_text() const override { return ""; }

 private:
  std::atomic<Nanoseconds> now_{0};
};

// Counts the marks that the compute stream has passed, as a task behind each.
class MarkCountingDevice : public platform::ForwardingDevice {
 public:
  MarkCountingDevice(std::unique_ptr<platform::Device> inner, std::atomic<int>& passed)
      : ForwardingDevice(std::move(inner)), passed_(passed) {}

  void mark_time(platform::TimeMarkId mark, StreamKind stream) override {
    inner().mark_time(mark, stream);
    if (stream == StreamKind::kCompute) {
      inner().launch(
          stream, [this] { ++passed_; }, OpLabel{});
    }
  }

 private:
  std::atomic<int>& passed_;
};

// A gather that takes `time`, as an operation of its stream.
class SlowCommunicator : public comm::Communicator {
 public:
  SlowCommunicator(HandClock& clock, Nanoseconds time) : clock_(clock), time_(time) {}
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 2; }
  void all_gather(platform::Device& device, StreamKind stream, DeviceSpan /*input*/,
                  DeviceSpan /*output*/, const OpLabel& label) override {
    device.launch(
        stream, [this] { clock_.sleep(time_); }, label);
  }
  void abort() noexcept override {}

 private:
  HandClock& clock_;
  Nanoseconds time_;
};

class BlockTimingTest : public testing::Test {
 protected:
  BlockTimingTest()
      : device_(std::make_unique<MarkCountingDevice>(
                    platform::make_cpu_device({}, clock_, *signal_), marks_passed_),
                timing_),
        communicator_(std::make_unique<SlowCommunicator>(clock_, 5 * kMillisecond), timing_),
        ready_(device_.create_event()) {}

  static OpLabel label(Site site, std::int32_t block) { return {site, 0, block, 0, -1}; }
  void finish() { ASSERT_TRUE(device_.synchronize(Deadline{}).ok()); }

  // One block, stream after stream, so that the clock moves in a known order: copy of no time,
  // gather of 5 ms, compute that arrives 2 ms before it may start and runs 10 ms. It has arrived
  // once it has passed the mark before its wait.
  void run_block(std::int32_t block) {
    device_.copy_to_device(StreamKind::kCopy, {memory_.data(), 8}, source_,
                           label(Site::kH2d, block));
    finish();
    communicator_.all_gather(device_, StreamKind::kComm, {memory_.data(), 4}, {memory_.data(), 8},
                             label(Site::kGather, block));
    finish();
    const int marks_at_arrival = marks_passed_.load() + (timing_.on() ? 1 : 0);
    device_.launch(
        StreamKind::kComm,
        [this, marks_at_arrival] {
          while (marks_passed_.load() < marks_at_arrival) {
          }
          clock_.sleep(2 * kMillisecond);
        },
        label(Site::kReadyRecord, block));
    device_.record(ready_, StreamKind::kComm, label(Site::kReadyRecord, block));
    device_.wait(StreamKind::kCompute, ready_, label(Site::kReadyWait, block));
    device_.launch(
        StreamKind::kCompute, [this] { clock_.sleep(10 * kMillisecond); },
        label(Site::kCompute, block));
    finish();
  }

  HandClock clock_;
  std::unique_ptr<FailureSignal> signal_ = make_local_failure_signal();
  BlockTiming timing_;
  std::atomic<int> marks_passed_{0};
  std::array<std::byte, 8> memory_{};
  std::array<std::byte, 8> source_{};
  TimingDevice device_;
  TimingCommunicator communicator_;
  platform::EventId ready_;
};

TEST_F(BlockTimingTest, Forward_ShowsEachBlocksTimes) {
  timing_.prepare({.blocks = 2, .copies = 2, .gathers = 2});
  timing_.start();
  for (const int block : {0, 1}) {
    run_block(block);
    const Nanoseconds begin = timing_.host_now();
    clock_.sleep(7 * kMicrosecond);
    timing_.add_host(BlockTiming::HostSpan::kOffload, block, begin);
    timing_.add_host(BlockTiming::HostSpan::kOffload, block, begin);
  }
  device_.launch(
      StreamKind::kCompute, [this] { clock_.sleep(kMillisecond); }, OpLabel{.site = Site::kModel});
  timing_.stop();
  finish();
  const auto forward = timing_.collect(3);
  ASSERT_EQ(forward.blocks.size(), 2U);
  for (const auto& block : forward.blocks) {
    EXPECT_DOUBLE_EQ(block.compute_ms, 10);
    EXPECT_DOUBLE_EQ(block.gather_ms, 5);
    EXPECT_DOUBLE_EQ(block.h2d_ms, 0);
    ASSERT_TRUE(block.exposed_us.has_value());
    EXPECT_DOUBLE_EQ(*block.exposed_us, 2000);
    EXPECT_DOUBLE_EQ(block.dispatch_us, 14);
  }
  EXPECT_DOUBLE_EQ(forward.other_compute_ms, 1);
  EXPECT_DOUBLE_EQ(forward.child_compute_ms, 0);
  EXPECT_DOUBLE_EQ(forward.gpu_compute_s, 0.021);
  EXPECT_DOUBLE_EQ(forward.comm_kernel_s, 0.010);
  EXPECT_EQ(forward.h2d_calls, 2U);
  EXPECT_EQ(forward.h2d_bytes, 16U);
  EXPECT_EQ(forward.unmarked, 0U);
  ASSERT_EQ(forward.timeline.rows.size(), 9U);
  EXPECT_EQ(forward.timeline.rows.front().rank, 3);
  EXPECT_EQ(forward.timeline.rows.front().lane, "copy");
  EXPECT_EQ(forward.timeline.rows.front().name, "h2d ring 0 block 0 slot 0");

  const auto summary = summarise({forward, forward});
  EXPECT_EQ(summary.forwards, 2U);
  EXPECT_DOUBLE_EQ(summary.compute_ms.p50, 10);
  EXPECT_DOUBLE_EQ(summary.dispatch_us.p99, 14);
  EXPECT_DOUBLE_EQ(summary.h2d_bytes, 16);
  ASSERT_TRUE(summary.exposed_us.has_value());
  EXPECT_DOUBLE_EQ(summary.exposed_us->p50, 2000);
}

TEST_F(BlockTimingTest, PackedChunks_AreHostTimeOfTheForwardAndALaneOfTheTimeline) {
  timing_.prepare({.blocks = 1, .copies = 2, .gathers = 0});
  timing_.start();
  for (int chunk = 0; chunk < 2; ++chunk) {
    device_.launch_host(
        StreamKind::kPack, [this] { clock_.sleep(3 * kMillisecond); }, label(Site::kPack, 0));
    finish();
  }
  timing_.stop();
  const auto forward = timing_.collect(0);
  EXPECT_DOUBLE_EQ(forward.host_pack_s, 0.006);
  EXPECT_EQ(forward.h2d_calls, 0U);
  ASSERT_EQ(forward.timeline.rows.size(), 2U);
  EXPECT_EQ(forward.timeline.rows.front().lane, "pack");
  EXPECT_DOUBLE_EQ(summarise({forward}).host_pack_s, 0.006);
}

// Each block's packing begins with a host function of its own.
TEST_F(BlockTimingTest, StagedBlocksOfOneChunkEach_FitThePool) {
  constexpr std::int32_t kBlocks = 20;
  timing_.prepare({.blocks = kBlocks, .copies = kBlocks});
  timing_.start();
  for (std::int32_t block = 0; block < kBlocks; ++block) {
    for (int function = 0; function < 2; ++function) {
      device_.launch_host(
          StreamKind::kPack, [] {}, label(Site::kPack, block));
    }
    device_.copy_to_device(StreamKind::kCopy, {memory_.data(), 8}, source_,
                           label(Site::kH2d, block));
    device_.wait(StreamKind::kCompute, ready_, label(Site::kReadyWait, block));
    device_.launch(
        StreamKind::kCompute, [] {}, label(Site::kCompute, block));
  }
  timing_.stop();
  finish();
  EXPECT_EQ(timing_.collect(0).unmarked, 0U);
}

TEST_F(BlockTimingTest, BlockOfAnotherRing_IsCopyAndOtherComputeOfTheForward) {
  timing_.prepare({.blocks = 1, .other_blocks = 1, .copies = 2, .gathers = 1});
  timing_.start();
  run_block(0);
  OpLabel child = label(Site::kH2d, 0);
  child.ring = 1;
  device_.copy_to_device(StreamKind::kCopy, {memory_.data(), 8}, source_, child);
  child.site = Site::kReadyWait;
  device_.wait(StreamKind::kCompute, ready_, child);
  child.site = Site::kCompute;
  device_.launch(
      StreamKind::kCompute, [this] { clock_.sleep(4 * kMillisecond); }, child);
  timing_.stop();
  finish();
  const auto forward = timing_.collect(0);
  EXPECT_DOUBLE_EQ(forward.blocks.front().compute_ms, 10);
  EXPECT_DOUBLE_EQ(forward.other_compute_ms, 4);
  EXPECT_DOUBLE_EQ(forward.child_compute_ms, 4);
  EXPECT_EQ(forward.h2d_calls, 2U);
  EXPECT_EQ(forward.h2d_bytes, 16U);
  EXPECT_EQ(forward.unmarked, 0U);
}

TEST_F(BlockTimingTest, Off_NothingIsNoted) {
  timing_.prepare({.blocks = 1, .copies = 1, .gathers = 1});
  run_block(0);
  const auto forward = timing_.collect(0);
  EXPECT_TRUE(forward.timeline.rows.empty());
  EXPECT_FALSE(forward.blocks.front().exposed_us.has_value());
  EXPECT_EQ(forward.h2d_calls, 0U);
  EXPECT_FALSE(summarise({forward}).exposed_us.has_value());
}

TEST_F(BlockTimingTest, On_AllocatesNothing) {
  timing_.prepare({.blocks = 1, .copies = 50, .gathers = 50});
  const auto before = test_support::allocation_count();
  timing_.start();
  for (int i = 0; i < 50; ++i) {
    device_.copy_to_device(StreamKind::kCopy, {memory_.data(), 8}, source_, label(Site::kH2d, 0));
    communicator_.all_gather(device_, StreamKind::kComm, {memory_.data(), 4}, {memory_.data(), 8},
                             label(Site::kGather, 0));
  }
  device_.wait(StreamKind::kCompute, ready_, label(Site::kReadyWait, 0));
  device_.launch(
      StreamKind::kCompute, [] {}, label(Site::kCompute, 0));
  timing_.stop();
  EXPECT_EQ(test_support::allocation_count(), before);
  finish();
}

TEST_F(BlockTimingTest, BeyondThePool_IsCountedAndStillDone) {
  timing_.prepare({.blocks = 0, .copies = 0, .gathers = 0});
  timing_.start();
  source_[0] = std::byte{9};
  for (int i = 0; i < 10; ++i) {
    device_.copy_to_device(StreamKind::kCopy, {memory_.data(), 8}, source_, label(Site::kH2d, 0));
  }
  timing_.stop();
  finish();
  EXPECT_EQ(memory_[0], std::byte{9});
  EXPECT_EQ(timing_.collect(0).unmarked, 2U);  // eight spare places
}

TEST_F(BlockTimingTest, SecondForward_ReplacesTheFirst) {
  timing_.prepare({.blocks = 1, .copies = 1, .gathers = 1});
  for (int forward = 0; forward < 2; ++forward) {
    timing_.start();
    run_block(0);
    timing_.stop();
  }
  EXPECT_DOUBLE_EQ(timing_.collect(0).blocks.front().compute_ms, 10);
}

TEST_F(BlockTimingTest, StartBeforePrepare_IsAProgrammerError) {
  EXPECT_THROW(timing_.start(), LogicError);
}

}  // namespace
}  // namespace dlo::telemetry
