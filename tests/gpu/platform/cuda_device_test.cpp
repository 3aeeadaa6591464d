// Goal: the CUDA device keeps the seam's promises: stream order, exact-size pinned memory, books
// and budgets, refusals that leave the device usable, failures that stay, and host waits that end
// by deadline. Method: host tasks held back by gates, so that no outcome depends on time.
#include "platform/cuda/cuda_device.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/codes.h"
#include "base/error.h"
#include "platform/cuda/cuda_inventory.h"
#include "platform/cuda/host_tasks.h"
#include "platform/posix/posix_file_system.h"
#include "platform/posix/steady_clock.h"
#include "tests/support/gate.h"

namespace dlo::platform {
namespace {

using test_support::Gate;

constexpr OpLabel kLabel{Site::kCompute, 0, 5, 1, -1};

class CudaDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) {
      GTEST_SKIP() << "no CUDA device can be used on this machine";
    }
  }
  std::unique_ptr<Device> device(CudaDeviceOptions options = {}) {
    options.rank = 3;
    return make_cuda_device(options, clock_, *signal_);
  }
  [[nodiscard]] Deadline soon() const { return Deadline::after(clock_.now(), 20 * kMillisecond); }
  [[nodiscard]] Deadline late() const { return Deadline::after(clock_.now(), 30 * kSecond); }

  SteadyClock clock_;
  std::unique_ptr<FailureSignal> signal_ = make_local_failure_signal();
};

TEST_F(CudaDeviceTest, Wait_HoldsItsStreamUntilTheRecord) {
  Gate gate;
  const auto dev = device();
  const EventId first = dev->create_event();
  const EventId second = dev->create_event();
  dev->launch_host(
      StreamKind::kCopy, [&gate] { gate.pass(); }, kLabel);
  dev->record(first, StreamKind::kCopy, kLabel);
  dev->wait(StreamKind::kCompute, first, kLabel);
  dev->record(second, StreamKind::kCompute, kLabel);
  EXPECT_FALSE(dev->query(first));
  EXPECT_FALSE(dev->query(second));
  gate.open();
  EXPECT_TRUE(dev->wait_host(second, late(), kLabel).ok());
  EXPECT_TRUE(dev->query(first));
}

TEST_F(CudaDeviceTest, UnrecordedEvent_HoldsNothing) {
  const auto dev = device();
  const EventId event = dev->create_event();
  EXPECT_TRUE(dev->query(event));
  dev->wait(StreamKind::kCompute, event, kLabel);
  EXPECT_TRUE(dev->wait_host(event, late(), kLabel).ok());
  EXPECT_TRUE(dev->synchronize(late()).ok());
}

TEST_F(CudaDeviceTest, NewDeviceMemory_IsClearedAndCopiesMoveBytesBothWays) {
  const auto dev = device();
  constexpr std::uint64_t kBytes = 3 * kMiB + 17;
  const auto host = dev->allocate_pinned(kBytes, MemoryPurpose::kStaging).value();
  const auto back = dev->allocate_pinned(kBytes, MemoryPurpose::kStaging).value();
  const auto memory = dev->allocate_device(kBytes, MemoryPurpose::kSlot).value();
  std::memset(back->span().data(), 0x5a, kBytes);
  dev->copy_to_host(StreamKind::kCopy, back->span(), memory->span(), kLabel);
  ASSERT_TRUE(dev->synchronize(late()).ok());
  EXPECT_TRUE(std::all_of(back->span().begin(), back->span().end(),
                          [](std::byte value) { return value == std::byte{0}; }));
  for (std::size_t i = 0; i < kBytes; ++i) {
    host->span()[i] = static_cast<std::byte>(i * 31 % 251);
  }
  dev->copy_to_device(StreamKind::kCopy, memory->span(), host->span(), kLabel);
  dev->copy_to_device(StreamKind::kCopy, {}, {}, kLabel);
  dev->copy_to_host(StreamKind::kCopy, back->span(), memory->span(), kLabel);
  ASSERT_TRUE(dev->synchronize(late()).ok());
  EXPECT_EQ(std::memcmp(back->span().data(), host->span().data(), kBytes), 0);
  EXPECT_THROW(dev->copy_to_device(StreamKind::kCopy, memory->span(), {}, kLabel), LogicError);
}

TEST_F(CudaDeviceTest, PinnedMemory_IsPinnedFromTheStartAndOfExactSize) {
  const auto dev = device();
  constexpr std::uint64_t kBytes = 65 * kMiB + 1;
  const auto buffer = dev->allocate_pinned(kBytes, MemoryPurpose::kHostShard).value();
  EXPECT_EQ(dev->pinned_memory().now_bytes, kBytes);
  EXPECT_TRUE(std::all_of(buffer->span().begin(), buffer->span().end(),
                          [](std::byte value) { return value == std::byte{0}; }));
  cudaPointerAttributes attributes{};
  for (const std::uint64_t offset : {std::uint64_t{0}, kBytes - 1}) {
    ASSERT_EQ(cudaPointerGetAttributes(&attributes, buffer->span().data() + offset), cudaSuccess);
    EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  }
}

TEST_F(CudaDeviceTest, MemoryBeyondTheMachine_IsRefusedAndTheDeviceGoesOn) {
  const auto dev = device();
  const auto refused = dev->allocate_device(std::uint64_t{1} << 50, MemoryPurpose::kSlot);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.refusal().code, codes::kDeviceOutOfMemory);
  EXPECT_NE(refused.refusal().what.find("cudaErrorMemoryAllocation"), std::string::npos);
  EXPECT_EQ(dev->device_memory().now_bytes, 0U);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << "the pending error was not drained";
  EXPECT_TRUE(dev->allocate_device(kMiB, MemoryPurpose::kSlot).ok());
  EXPECT_FALSE(dev->failure().has_value());
}

TEST_F(CudaDeviceTest, Budgets_RefuseOnTheByte) {
  CudaDeviceOptions options;
  options.device_budget_bytes = kMiB;
  options.pinned_budget_bytes = 2 * kMiB;
  const auto dev = device(options);
  EXPECT_EQ(dev->allocate_device(kMiB + 1, MemoryPurpose::kSlot).refusal().code,
            codes::kDeviceOutOfMemory);
  EXPECT_EQ(dev->allocate_pinned(2 * kMiB + 1, MemoryPurpose::kHostShard).refusal().code,
            codes::kPinFailed);
  const auto fits = dev->allocate_device(kMiB, MemoryPurpose::kSlot);
  EXPECT_TRUE(fits.ok());
  EXPECT_EQ(dev->device_memory(MemoryPurpose::kSlot).peak_bytes, kMiB);
}

TEST_F(CudaDeviceTest, StuckStream_EndsTheWaitAtItsDeadline) {
  Gate gate;
  const auto dev = device();
  const EventId event = dev->create_event();
  dev->launch_host(
      StreamKind::kComm, [&gate] { gate.pass(); }, kLabel);
  dev->record(event, StreamKind::kComm, kLabel);
  const auto status = dev->wait_host(event, soon(), kLabel);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.refusal().code, codes::kDeadlineExceeded);
  EXPECT_EQ(dev->synchronize(soon()).refusal().code, codes::kDeadlineExceeded);
  gate.open();
  EXPECT_TRUE(dev->synchronize(late()).ok());
}

TEST_F(CudaDeviceTest, FailureOfAPeer_EndsTheWait) {
  Gate gate;
  const auto dev = device();
  const EventId event = dev->create_event();
  dev->launch_host(
      StreamKind::kComm, [&gate] { gate.pass(); }, kLabel);
  dev->record(event, StreamKind::kComm, kLabel);
  signal_->raise(Failure{std::string(codes::kPeerFailed), 1, -1, "gather", "gone"});
  EXPECT_EQ(dev->wait_host(event, late(), kLabel).refusal().code, codes::kPeerFailed);
  gate.open();
  while (!dev->query(event)) {
    std::this_thread::yield();
  }
  // What a peer's gathers left behind is void also when the event completes.
  EXPECT_EQ(dev->wait_host(event, late(), kLabel).refusal().code, codes::kPeerFailed);
}

TEST_F(CudaDeviceTest, EventBehindAFailure_CompletesOnlyWithItsStream) {
  Gate gate;
  const auto dev = device();
  const EventId event = dev->create_event();
  dev->launch_host(
      StreamKind::kCopy, [&gate] { gate.pass(); }, kLabel);
  dev->launch(
      StreamKind::kCompute,
      [] { throw RunError(refuse(codes::kStaleSlot, "slot 1 holds block 4", "block 5", "none")); },
      kLabel);
  dev->record(event, StreamKind::kCopy, kLabel);
  EXPECT_FALSE(dev->query(event)) << "buffers would be freed under a running copy";
  gate.open();
  while (!dev->query(event)) {
    std::this_thread::yield();
  }
}

TEST_F(CudaDeviceTest, BufferUnderABusyStream_IsKept) {
  Gate gate;
  CudaDeviceOptions options;
  options.idle_timeout = 20 * kMillisecond;
  const auto dev = device(options);
  auto memory = dev->allocate_device(kMiB, MemoryPurpose::kSlot).value();
  void* const address = memory->span().data;
  dev->launch_host(
      StreamKind::kComm, [&gate] { gate.pass(); }, kLabel);
  memory.reset();
  cudaPointerAttributes attributes{};
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, address), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice) << "freed under a stream that may read it";
  gate.open();
  EXPECT_TRUE(dev->synchronize(late()).ok());
}

TEST_F(CudaDeviceTest, ThrowingTask_FailsForGoodWithItsCode) {
  for (const bool on_host : {false, true}) {
    signal_ = make_local_failure_signal();
    const auto dev = device();
    const auto task = [] {
      throw RunError(refuse(codes::kStaleSlot, "slot 1 holds block 4", "block 5", "none"));
    };
    const EventId event = dev->create_event();
    if (on_host) {
      dev->launch_host(StreamKind::kCompute, task, kLabel);
    } else {
      dev->launch(StreamKind::kCompute, task, kLabel);
    }
    std::atomic<bool> ran{false};
    dev->launch_host(
        StreamKind::kCompute, [&ran] { ran.store(true); }, kLabel);
    dev->record(event, StreamKind::kCompute, kLabel);
    EXPECT_EQ(dev->wait_host(event, late(), kLabel).refusal().code, codes::kStaleSlot);
    EXPECT_EQ(dev->failure()->code, codes::kStaleSlot);
    ASSERT_TRUE(signal_->poll().has_value());
    EXPECT_EQ(signal_->poll()->rank, 3);
    EXPECT_EQ(signal_->poll()->block, 5);
    static_cast<void>(cudaDeviceSynchronize());
    EXPECT_TRUE(dev->query(event));
    EXPECT_FALSE(ran.load()) << "an operation behind the failed one ran";
  }
}

TEST_F(CudaDeviceTest, TimeMarks_AreInStreamOrderAndAbsentUntilReached) {
  Gate gate;
  const auto dev = device();
  const TimeMarkId first = dev->create_time_mark();
  const TimeMarkId second = dev->create_time_mark();
  dev->mark_time(first, StreamKind::kCompute);
  dev->launch_host(
      StreamKind::kCompute, [&gate] { gate.pass(); }, kLabel);
  dev->mark_time(second, StreamKind::kCompute);
  EXPECT_FALSE(dev->elapsed(first, second).has_value());
  gate.open();
  ASSERT_TRUE(dev->synchronize(late()).ok());
  const auto elapsed = dev->elapsed(first, second);
  ASSERT_TRUE(elapsed.has_value());
  EXPECT_GT(*elapsed, 0);
  EXPECT_EQ(dev->elapsed(first, first), 0);
}

TEST_F(CudaDeviceTest, NativeStreams_AreFourOfTheChosenDevice) {
  const auto dev = device();
  std::set<void*> handles;
  for (const auto kind : kAllStreams) {
    const auto native = dev->native_stream(kind);
    EXPECT_TRUE(native.present());
    EXPECT_EQ(native.ordinal, 0);
    handles.insert(native.handle);
  }
  EXPECT_EQ(handles.size(), kStreamCount);
}

TEST_F(CudaDeviceTest, MoreHostTasksThanTheRingHolds_AllRunInOrder) {
  const auto dev = device();
  std::vector<std::size_t> order;
  constexpr std::size_t kTasks = 3 * HostTasks::kRows;
  for (std::size_t i = 0; i < kTasks; ++i) {
    dev->launch_host(
        StreamKind::kComm, [&order, i] { order.push_back(i); }, kLabel);
  }
  ASSERT_TRUE(dev->synchronize(late()).ok());
  ASSERT_EQ(order.size(), kTasks);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

// On a thread of CUDA's, whose signal mask is CUDA's.
TEST_F(CudaDeviceTest, HostTaskThatReadsAFileThatShrank_ReadsZeros) {
  const auto path = std::filesystem::path(testing::TempDir()) / "dlo_cuda_shrinking_file";
  constexpr std::size_t kBytes = 64 * kKiB;
  std::ofstream(path) << std::string(kBytes, 'x');
  const auto mapped = PosixFileSystem().map_read_only(path).value();
  std::filesystem::resize_file(path, 0);
  const auto dev = device();
  std::size_t zeros = 0;
  dev->launch_host(
      StreamKind::kPack,
      [&] {
        const auto bytes = mapped->bytes();
        zeros = static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), std::byte{0}));
      },
      kLabel);
  ASSERT_TRUE(dev->synchronize(late()).ok());
  EXPECT_EQ(zeros, kBytes);
  EXPECT_TRUE(mapped->truncated());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace dlo::platform
