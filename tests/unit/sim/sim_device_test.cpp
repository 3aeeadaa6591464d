// Goal: the simulator's device keeps stream and event order and nothing more, shows every missing
// wait within a few seeds, and repeats a run exactly from its seed.
// Method: two-stream programs on one rank, run over many seeds, with and without their wait.
#include "platform/sim/sim_device.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "platform/sim/sim_kernel.h"

namespace dlo::platform::sim {
namespace {

constexpr std::uint64_t kSeeds = 200;
const OpLabel kCopyLabel{.site = Site::kH2d, .block = 0, .slot = 0};
const OpLabel kComputeLabel{.site = Site::kCompute, .block = 0};

enum class Waits { kKept, kDropped };

// Copies 64 bytes of 7 into device memory and lets compute read them. Returns the outcome and
// whether compute saw the right bytes.
struct Seen {
  SimOutcome outcome;
  bool right = true;
};

Seen copy_then_compute(std::uint64_t seed, Waits waits) {
  SimKernel kernel({.seed = seed});
  const ExploringCosts costs(seed);
  const auto signal = make_local_failure_signal();
  Seen seen;
  seen.outcome = kernel.run([&](int rank) {
    SimDevice device(kernel, {.rank = rank, .budgets = {}, .costs = &costs}, *signal);
    auto slot = device.allocate_device(64, MemoryPurpose::kSlot).value();
    auto host = device.allocate_pinned(64, MemoryPurpose::kHostShard).value();
    std::memset(host->span().data(), 7, 64);
    const EventId ready = device.create_event();
    device.copy_to_device(StreamKind::kCopy, slot->span(), host->span(), kCopyLabel);
    device.record(ready, StreamKind::kCopy, {.site = Site::kReadyRecord});
    if (waits == Waits::kKept) {
      device.wait(StreamKind::kCompute, ready, {.site = Site::kReadyWait});
    }
    const DeviceSpan span = slot->span();
    device.launch(
        StreamKind::kCompute,
        [&seen, span] {
          for (std::uint64_t i = 0; i < span.bytes; ++i) {
            seen.right = seen.right && span.data[i] == std::byte{7};
          }
        },
        kComputeLabel);
    EXPECT_TRUE(device.synchronize(Deadline::after(device.clock().now(), kSecond)).ok());
  });
  return seen;
}

TEST(SimDevice, ReadyWaitKept_ComputeAlwaysSeesTheBytes) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto seen = copy_then_compute(seed, Waits::kKept);
    ASSERT_EQ(seen.outcome.violation, "") << "seed " << seed;
    ASSERT_TRUE(seen.right) << "seed " << seed;
  }
}

TEST(SimDevice, ReadyWaitDropped_SomeSeedShowsWrongBytes) {
  std::uint64_t wrong = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    wrong += copy_then_compute(seed, Waits::kDropped).right ? 0U : 1U;
  }
  EXPECT_GT(wrong, kSeeds / 10);
}

TEST(SimDevice, SameSeed_SameTrace) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto first = copy_then_compute(seed, Waits::kKept).outcome;
    const auto second = copy_then_compute(seed, Waits::kKept).outcome;
    EXPECT_EQ(first.trace_digest, second.trace_digest) << "seed " << seed;
    EXPECT_EQ(first.end_time, second.end_time) << "seed " << seed;
  }
}

TEST(SimDevice, DifferentSeeds_DifferentTraces) {
  EXPECT_NE(copy_then_compute(1, Waits::kKept).outcome.trace_digest,
            copy_then_compute(2, Waits::kKept).outcome.trace_digest);
}

TEST(SimDevice, TwoCopiesIntoOneSlotWithoutOrder_OverlapIsNamed) {
  std::string violation;
  for (std::uint64_t seed = 0; seed < kSeeds && violation.empty(); ++seed) {
    SimKernel kernel({.seed = seed});
    const ExploringCosts costs(seed);
    const auto signal = make_local_failure_signal();
    violation =
        kernel
            .run([&](int rank) {
              SimDevice device(kernel, {.rank = rank, .budgets = {}, .costs = &costs}, *signal);
              auto slot = device.allocate_device(64, MemoryPurpose::kSlot).value();
              auto host = device.allocate_pinned(64, MemoryPurpose::kHostShard).value();
              device.copy_to_device(StreamKind::kCopy, slot->span(), host->span(), kCopyLabel);
              device.copy_to_device(StreamKind::kComm, slot->span(), host->span(), kCopyLabel);
              static_cast<void>(device.synchronize(Deadline::after(device.clock().now(), kSecond)));
            })
            .violation;
  }
  EXPECT_NE(violation.find("uses the same bytes"), std::string::npos) << violation;
}

TEST(SimDevice, TaskThrows_DeviceFailsWithItsCodeAndLaterWorkIsSkipped) {
  SimKernel kernel({.seed = 3});
  const ExploringCosts costs(3);
  const auto signal = make_local_failure_signal();
  bool later_ran = false;
  const auto outcome = kernel.run([&](int rank) {
    SimDevice device(kernel, {.rank = rank, .budgets = {}, .costs = &costs}, *signal);
    device.launch(
        StreamKind::kCompute,
        [] { throw RunError(refuse("stale_slot", "wrong block", "here", "")); }, kComputeLabel);
    device.launch(
        StreamKind::kCompute, [&later_ran] { later_ran = true; }, kComputeLabel);
    const auto status = device.synchronize(Deadline::after(device.clock().now(), kSecond));
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.refusal().code, "stale_slot");
    const auto drained = Deadline::after(device.clock().now(), kSecond);
    while (device.synchronize(drained).ok()) {
    }
    device.clock().sleep(kSecond);
  });
  EXPECT_EQ(outcome.violation, "");
  EXPECT_FALSE(later_ran);
  EXPECT_EQ(signal->poll()->code, "stale_slot");
}

TEST(SimDevice, DeviceBudgetReached_AllocationRefused) {
  SimKernel kernel({.seed = 1});
  const ExploringCosts costs(1);
  const auto signal = make_local_failure_signal();
  static_cast<void>(kernel.run([&](int rank) {
    SimDevice device(
        kernel,
        {.rank = rank, .budgets = {.device_bytes = 100, .pinned_bytes = 50}, .costs = &costs},
        *signal);
    EXPECT_TRUE(device.allocate_device(100, MemoryPurpose::kSlot).ok());
    auto kept = device.allocate_device(60, MemoryPurpose::kSlot).value();
    EXPECT_EQ(device.allocate_device(60, MemoryPurpose::kSlot).refusal().code,
              "device_out_of_memory");
    EXPECT_EQ(device.allocate_pinned(51, MemoryPurpose::kHostShard).refusal().code, "pin_failed");
    EXPECT_EQ(device.device_memory(MemoryPurpose::kSlot).peak_bytes, 100U);
    EXPECT_EQ(device.live_buffer_count(), 1U);
  }));
}

}  // namespace
}  // namespace dlo::platform::sim
