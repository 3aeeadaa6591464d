// Goal: the fault and mutation decorators change exactly what they say. Method: a real CPU device
// below them; the order of a slow copy is forced by a gate, not by time.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "base/codes.h"
#include "platform/cpu/cpu_device.h"
#include "platform/fault/pin_fails_device.h"
#include "platform/fault/slow_copy_device.h"
#include "platform/posix/steady_clock.h"
#include "tests/support/mutant_device.h"

namespace dlo::platform {
namespace {

using test_support::MutantDevice;
using test_support::Mutation;

class FaultDeviceTest : public testing::Test {
 protected:
  std::unique_ptr<Device> cpu() { return make_cpu_device({}, clock_, *signal_); }
  [[nodiscard]] Deadline late() const { return Deadline::after(clock_.now(), 30 * kSecond); }

  // Copies "new" over "old" behind a gate and reads it on the compute stream behind a wait. With
  // the wait dropped the compute stream reads first, for the gate opens behind its read.
  std::string read_behind_wait(Device& device) {
    const auto buffer = device.allocate_device(3, MemoryPurpose::kSlot);
    const DeviceSpan slot = (*buffer)->span();
    const std::string old_text = "old";
    const std::string new_text = "new";
    device.copy_to_device(StreamKind::kCopy, slot, std::as_bytes(std::span(old_text)), {});
    EXPECT_TRUE(device.synchronize(late()).ok());
    std::atomic<bool> open{false};
    std::string read;
    const EventId ready = device.create_event();
    const EventId done = device.create_event();
    device.launch(StreamKind::kCopy,
                  [&open] {
                    while (!open.load()) {
                      std::this_thread::yield();
                    }
                  },
                  {});
    device.copy_to_device(StreamKind::kCopy, slot, std::as_bytes(std::span(new_text)), {});
    device.record(ready, StreamKind::kCopy, {Site::kReadyRecord});
    device.wait(StreamKind::kCompute, ready, {Site::kReadyWait});
    device.launch(
        StreamKind::kCompute,
        [slot, &read] { read.assign(reinterpret_cast<const char*>(slot.data), slot.bytes); }, {});
    device.record(done, StreamKind::kCompute, {});
    // Only a compute stream that does not wait can be done before the gate opens.
    const Deadline early = Deadline::after(clock_.now(), 100 * kMillisecond);
    while (!device.query(done) && !early.expired(clock_.now())) {
      std::this_thread::yield();
    }
    open.store(true);
    EXPECT_TRUE(device.synchronize(late()).ok());
    return read;
  }

  SteadyClock clock_;
  std::unique_ptr<FailureSignal> signal_ = make_local_failure_signal();
};

TEST_F(FaultDeviceTest, UnmutatedDevice_ReadsNewBytes) {
  MutantDevice device(cpu(), Mutation{});
  EXPECT_EQ(read_behind_wait(device), "new");
  EXPECT_EQ(device.mutated(), 0U);
}

TEST_F(FaultDeviceTest, SkippedWait_ReadsOldBytes) {
  MutantDevice device(
      cpu(), {.skip_wait = [](const OpLabel& label) { return label.site == Site::kReadyWait; },
              .skip_record = {},
              .corrupt_copy = {}});
  EXPECT_EQ(read_behind_wait(device), "old");
  EXPECT_EQ(device.mutated(), 1U);
}

TEST_F(FaultDeviceTest, SkippedRecord_ReadsOldBytes) {
  MutantDevice device(
      cpu(), {.skip_wait = {},
              .skip_record = [](const OpLabel& label) { return label.site == Site::kReadyRecord; },
              .corrupt_copy = {}});
  EXPECT_EQ(read_behind_wait(device), "old");
}

TEST_F(FaultDeviceTest, CorruptCopy_ChangesOneByte) {
  MutantDevice device(
      cpu(),
      {.skip_wait = {}, .skip_record = {}, .corrupt_copy = [](const OpLabel&) { return true; }});
  const std::string read = read_behind_wait(device);
  EXPECT_NE(read[0], 'n');
  EXPECT_EQ(read.substr(1), "ew");
}

TEST_F(FaultDeviceTest, SlowCopy_TakesItsDelayOnTheStream) {
  constexpr Nanoseconds kDelay = 5 * kMillisecond;
  SlowCopyDevice device(cpu(), kDelay);
  const Nanoseconds begin = clock_.now();
  EXPECT_EQ(read_behind_wait(device), "new");
  EXPECT_GE(clock_.now() - begin, 2 * kDelay) << "a lower bound, whatever the machine does";
}

TEST_F(FaultDeviceTest, PinFails_BeyondTheAllowedOnes) {
  PinFailsDevice device(cpu(), 1);
  const auto first = device.allocate_pinned(10, MemoryPurpose::kHostShard);
  EXPECT_TRUE(first.ok());
  for (int i = 0; i < 2; ++i) {
    const auto refused = device.allocate_pinned(10, MemoryPurpose::kHostShard);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.refusal().code, codes::kPinFailed);
  }
  EXPECT_TRUE(device.allocate_pageable(10, MemoryPurpose::kHostShard).ok());
  EXPECT_EQ(device.pinned_memory().now_bytes, 10U);
}

}  // namespace
}  // namespace dlo::platform
