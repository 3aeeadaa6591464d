// Goal: budgets, books and kinds of memory of the CPU device. Method: small budgets, buffers that
// outlive their device, and reading the kernel's count of locked memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "base/codes.h"
#include "platform/cpu/cpu_device.h"
#include "platform/posix/steady_clock.h"

namespace dlo::platform {
namespace {

class CpuMemoryTest : public testing::Test {
 protected:
  std::unique_ptr<Device> device(const CpuDeviceOptions& options = {}) {
    return make_cpu_device(options, clock_, *signal_);
  }

  SteadyClock clock_;
  std::unique_ptr<FailureSignal> signal_ = make_local_failure_signal();
};

// Sanitizers turn mlock into nothing.
#ifdef DLO_SANITIZED
constexpr std::uint64_t kLockedKib = 0;
#else
constexpr std::uint64_t kLockedKib = 64;
#endif

std::uint64_t locked_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmLck:") {
      std::uint64_t kib = 0;
      status >> kib;
      return kib;
    }
  }
  return 0;
}

bool all_zero(ConstByteSpan bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

TEST_F(CpuMemoryTest, DeviceMemory_IsZeroedAlignedAndBooked) {
  const auto dev = device();
  {
    const auto a = dev->allocate_device(1000, MemoryPurpose::kSlot);
    const auto b = dev->allocate_device(500, MemoryPurpose::kResident);
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>((*a)->span().data) % kTensorAlignmentBytes, 0U);
    EXPECT_TRUE(all_zero(ConstByteSpan((*a)->span().data, (*a)->span().bytes)));
    EXPECT_EQ((*a)->span().bytes, 1000U);
    EXPECT_EQ(dev->device_memory().now_bytes, 1500U);
    EXPECT_EQ(dev->device_memory(MemoryPurpose::kSlot).now_bytes, 1000U);
  }
  EXPECT_EQ(dev->device_memory().now_bytes, 0U);
  EXPECT_EQ(dev->device_memory().peak_bytes, 1500U);
  EXPECT_EQ(dev->device_memory(MemoryPurpose::kResident).peak_bytes, 500U);
}

TEST_F(CpuMemoryTest, DeviceBudget_IsExactAndNothingIsBookedBeyond) {
  const auto dev = device({.device_budget_bytes = 1024});
  const auto held = dev->allocate_device(1024, MemoryPurpose::kSlot);
  ASSERT_TRUE(held.ok());
  const auto refused = dev->allocate_device(1, MemoryPurpose::kSlot);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.refusal().code, codes::kDeviceOutOfMemory);
  EXPECT_NE(refused.refusal().what.find("1.00 KiB"), std::string::npos);
  EXPECT_EQ(dev->device_memory().peak_bytes, 1024U);
}

TEST_F(CpuMemoryTest, Pinned_IsLockedWhileItLives) {
  const auto dev = device({.pinned_budget_bytes = 64 * kKiB});
  const std::uint64_t before = locked_kib();
  auto buffer = dev->allocate_pinned(64 * kKiB, MemoryPurpose::kHostShard);
  ASSERT_TRUE(buffer.ok()) << buffer.refusal().message();
  EXPECT_TRUE((*buffer)->pinned());
  EXPECT_EQ(locked_kib(), before + kLockedKib);
  EXPECT_EQ(dev->pinned_memory().now_bytes, 64 * kKiB);
  const auto refused = dev->allocate_pinned(1, MemoryPurpose::kHostShard);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.refusal().code, codes::kPinFailed);
  buffer->reset();
  EXPECT_EQ(locked_kib(), before);
  EXPECT_EQ(dev->pinned_memory().now_bytes, 0U);
}

TEST_F(CpuMemoryTest, Pageable_IsBookedApartAndNotPinned) {
  const auto dev = device();
  const auto buffer = dev->allocate_pageable(100, MemoryPurpose::kHostShard);
  ASSERT_TRUE(buffer.ok());
  EXPECT_FALSE((*buffer)->pinned());
  EXPECT_TRUE(all_zero((*buffer)->span()));
  EXPECT_EQ(dev->pageable_memory().now_bytes, 100U);
  EXPECT_EQ(dev->pinned_memory().now_bytes, 0U);
}

TEST_F(CpuMemoryTest, ZeroBytes_AreANullSpan) {
  const auto dev = device({.device_budget_bytes = 0, .pinned_budget_bytes = 0});
  EXPECT_EQ((*dev->allocate_device(0, MemoryPurpose::kSlot))->span().data, nullptr);
  EXPECT_EQ((*dev->allocate_pinned(0, MemoryPurpose::kSlot))->span().data(), nullptr);
}

TEST_F(CpuMemoryTest, ImpossibleSize_IsARefusal) {
  const auto dev = device();
  const auto refused = dev->allocate_pageable(std::uint64_t{1} << 60, MemoryPurpose::kOther);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.refusal().code, codes::kHostOutOfMemory);
  EXPECT_NE(refused.refusal().what.find("ENOMEM"), std::string::npos);
  EXPECT_EQ(dev->pageable_memory().now_bytes, 0U);
}

TEST_F(CpuMemoryTest, Buffer_MayOutliveTheDevice) {
  auto dev = device();
  auto buffer = dev->allocate_device(10, MemoryPurpose::kSlot);
  dev.reset();
  (*buffer)->span().data[9] = std::byte{1};
  EXPECT_EQ((*buffer)->span().data[9], std::byte{1});
}

TEST_F(CpuMemoryTest, FreedBehindACopy_WaitsForIt) {
  const auto dev = device();
  const std::string text(kMiB, 'x');
  for (int i = 0; i < 20; ++i) {
    const auto buffer = dev->allocate_device(text.size(), MemoryPurpose::kSlot);
    dev->copy_to_device(StreamKind::kCopy, (*buffer)->span(), std::as_bytes(std::span(text)), {});
  }
  EXPECT_TRUE(dev->synchronize(Deadline::after(clock_.now(), 30 * kSecond)).ok());
}

}  // namespace
}  // namespace dlo::platform
