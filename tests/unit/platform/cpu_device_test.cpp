// Goal: order, events, failures and deadlines of the CPU device, and that issuing allocates
// nothing. Method: tasks held back by gates that the test opens, so that no outcome depends on
// time.
#include "platform/cpu/cpu_device.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/codes.h"
#include "platform/posix/steady_clock.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/gate.h"

namespace dlo::platform {
namespace {

using test_support::Gate;

constexpr OpLabel kLabel{Site::kCompute, 0, 5, 1, -1};

class CpuDeviceTest : public testing::Test {
 protected:
  std::unique_ptr<Device> device(CpuDeviceOptions options = {}) {
    options.rank = 3;
    return make_cpu_device(options, clock_, *signal_);
  }
  [[nodiscard]] Deadline soon() const { return Deadline::after(clock_.now(), 20 * kMillisecond); }
  [[nodiscard]] Deadline late() const { return Deadline::after(clock_.now(), 30 * kSecond); }

  SteadyClock clock_;
  std::unique_ptr<FailureSignal> signal_ = make_local_failure_signal();
};

TEST_F(CpuDeviceTest, Wait_HoldsItsStreamUntilTheRecord) {
  Gate gate;
  std::atomic<int> seen{0};
  std::atomic<int> value{0};
  const auto dev = device();
  const EventId event = dev->create_event();
  dev->launch(
      StreamKind::kCopy, [&] { gate.pass(), value.store(1); }, kLabel);
  dev->record(event, StreamKind::kCopy, kLabel);
  dev->wait(StreamKind::kCompute, event, kLabel);
  dev->launch(
      StreamKind::kCompute, [&] { seen.store(value.load() + 10); }, kLabel);
  EXPECT_FALSE(dev->query(event));
  EXPECT_EQ(seen.load(), 0);
  gate.open();
  EXPECT_TRUE(dev->synchronize(late()).ok());
  EXPECT_EQ(seen.load(), 11);
  EXPECT_TRUE(dev->query(event));
}

TEST_F(CpuDeviceTest, UnrecordedEvent_HoldsNothing) {
  const auto dev = device();
  const EventId event = dev->create_event();
  EXPECT_TRUE(dev->query(event));
  dev->wait(StreamKind::kCompute, event, kLabel);
  EXPECT_TRUE(dev->wait_host(event, soon(), kLabel).ok());
  EXPECT_TRUE(dev->synchronize(late()).ok());
}

// The wait belongs to the first record although the second one, on another stream, is over first.
TEST_F(CpuDeviceTest, WaitBeforeRerecord_BindsToTheFirstRecord) {
  Gate gate;
  std::atomic<bool> ran{false};
  const auto dev = device();
  const EventId event = dev->create_event();
  dev->launch(
      StreamKind::kCopy, [&] { gate.pass(); }, kLabel);
  dev->record(event, StreamKind::kCopy, kLabel);
  dev->wait(StreamKind::kCompute, event, kLabel);
  dev->launch(
      StreamKind::kCompute, [&] { ran.store(true); }, kLabel);
  dev->record(event, StreamKind::kComm, kLabel);
  EXPECT_TRUE(dev->wait_host(event, late(), kLabel).ok()) << "the latest record is over";
  EXPECT_FALSE(ran.load());
  gate.open();
  EXPECT_TRUE(dev->synchronize(late()).ok());
  EXPECT_TRUE(ran.load());
}

TEST_F(CpuDeviceTest, Copies_MoveBytesBothWaysAndMayBeEmpty) {
  const auto dev = device();
  const std::string text = "weights of one block";
  std::string back(text.size(), ' ');
  const auto buffer = dev->allocate_device(text.size(), MemoryPurpose::kSlot);
  dev->copy_to_device(StreamKind::kCopy, (*buffer)->span(), std::as_bytes(std::span(text)), kLabel);
  dev->copy_to_device(StreamKind::kCopy, {}, {}, kLabel);
  dev->copy_to_host(StreamKind::kCopy, std::as_writable_bytes(std::span(back)), (*buffer)->span(),
                    kLabel);
  ASSERT_TRUE(dev->synchronize(late()).ok());
  EXPECT_EQ(back, text);
  EXPECT_THROW(dev->copy_to_device(StreamKind::kCopy, (*buffer)->span(), {}, kLabel), LogicError);
}

TEST_F(CpuDeviceTest, ThrowingTask_FailsForGoodWithItsCodeAndLabel) {
  const auto dev = device();
  const EventId event = dev->create_event();
  std::atomic<bool> ran{false};
  dev->launch(
      StreamKind::kCompute,
      [] { throw RunError(refuse(codes::kStaleSlot, "slot 1 holds block 4", "block 5", "none")); },
      kLabel);
  dev->launch(
      StreamKind::kCompute, [&] { ran.store(true); }, kLabel);
  dev->record(event, StreamKind::kCompute, kLabel);
  const Status status = dev->wait_host(event, late(), kLabel);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.refusal().code, codes::kStaleSlot);
  EXPECT_FALSE(dev->synchronize(late()).ok());
  EXPECT_TRUE(dev->query(event)) << "events behind a failure complete";
  EXPECT_FALSE(ran.load()) << "operations behind a failure are skipped";
  EXPECT_EQ(dev->failure()->code, codes::kStaleSlot);
  const auto raised = signal_->poll();
  ASSERT_TRUE(raised.has_value());
  EXPECT_EQ(raised->rank, 3);
  EXPECT_EQ(raised->block, 5);
  EXPECT_EQ(raised->operation, label_text(kLabel));
}

TEST_F(CpuDeviceTest, OtherExceptions_BecomeInternalErrors) {
  const auto dev = device();
  dev->launch(
      StreamKind::kComm, [] { throw std::runtime_error("odd"); }, kLabel);
  const Status status = dev->synchronize(late());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.refusal().code, codes::kInternal);
  EXPECT_NE(status.refusal().what.find("odd"), std::string::npos);
}

TEST_F(CpuDeviceTest, WaitPastItsDeadline_IsNamed) {
  Gate gate;
  const auto dev = device();
  const EventId event = dev->create_event();
  dev->launch(
      StreamKind::kCopy, [&] { gate.pass(); }, kLabel);
  dev->record(event, StreamKind::kCopy, kLabel);
  const Status status = dev->wait_host(event, soon(), kLabel);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.refusal().code, codes::kDeadlineExceeded);
  EXPECT_NE(status.refusal().where.find("block 5"), std::string::npos);
  EXPECT_FALSE(dev->failure().has_value()) << "a late host wait is no failure of the device";
  gate.open();
  EXPECT_TRUE(dev->synchronize(late()).ok());
}

TEST_F(CpuDeviceTest, PeersFailure_EndsHostWaitsWithItsCode) {
  Gate gate;
  const auto dev = device();
  const EventId event = dev->create_event();
  dev->launch(
      StreamKind::kCopy, [&] { gate.pass(); }, kLabel);
  dev->record(event, StreamKind::kCopy, kLabel);
  signal_->raise({std::string(codes::kPinFailed), 1, 2, "pin", "no"});
  const Status status = dev->wait_host(event, late(), kLabel);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.refusal().code, codes::kPinFailed);
  gate.open();
}

TEST_F(CpuDeviceTest, FullQueue_WaitsForRoomAndFailsPastItsTimeout) {
  Gate gate;
  const auto dev = device({.queue_capacity = 4, .issue_timeout = 20 * kMillisecond});
  for (int i = 0; i < 100; ++i) {
    dev->launch(
        StreamKind::kCompute, [] {}, kLabel);
  }
  EXPECT_TRUE(dev->synchronize(late()).ok());
  for (int i = 0; i < 5; ++i) {
    dev->launch(
        StreamKind::kCompute, [&] { gate.pass(); }, kLabel);
  }
  ASSERT_TRUE(dev->failure().has_value());
  EXPECT_EQ(dev->failure()->code, codes::kDeadlineExceeded);
  gate.open();
}

TEST_F(CpuDeviceTest, Destruction_SkipsWhatIsQueued) {
  Gate gate;
  std::atomic<bool> ran{false};
  auto dev = device();
  dev->launch(
      StreamKind::kCompute, [&] { gate.pass(); }, kLabel);
  std::thread opener([&] { gate.open(); });
  dev.reset();
  opener.join();
  EXPECT_FALSE(ran.load());
}

TEST_F(CpuDeviceTest, DestructionWithAStuckTask_IsBounded) {
  static Gate never;  // outlives the stream thread that is left behind
  auto dev = device({.join_timeout = 20 * kMillisecond});
  dev->launch(
      StreamKind::kCompute, [] { never.pass(); }, kLabel);
  dev.reset();
  never.open();
}

TEST_F(CpuDeviceTest, Issuing_AllocatesNothing) {
  const auto dev = device();
  const EventId event = dev->create_event();
  const auto buffer = dev->allocate_device(4096, MemoryPurpose::kSlot);
  const std::array<std::byte, 4096> source{};
  const auto wave = [&] {
    for (int i = 0; i < 500; ++i) {
      dev->copy_to_device(StreamKind::kCopy, (*buffer)->span(), source, kLabel);
      dev->record(event, StreamKind::kCopy, kLabel);
      dev->wait(StreamKind::kCompute, event, kLabel);
      dev->launch(
          StreamKind::kCompute, [span = (*buffer)->span()] { span.data[0] = {}; }, kLabel);
      dev->record(event, StreamKind::kCompute, kLabel);
      dev->wait(StreamKind::kCopy, event, kLabel);
    }
    return dev->synchronize(late()).ok();
  };
  ASSERT_TRUE(wave());
  const std::uint64_t before = test_support::allocation_count();
  ASSERT_TRUE(wave());
  EXPECT_EQ(test_support::allocation_count(), before);
}

TEST_F(CpuDeviceTest, ForeignEvent_IsAProgrammerError) {
  const auto dev = device();
  EXPECT_THROW(dev->record(EventId{7}, StreamKind::kCopy, kLabel), LogicError);
  EXPECT_THROW(dev->launch(StreamKind::kCopy, StreamTask{}, kLabel), LogicError);
}

}  // namespace
}  // namespace dlo::platform
