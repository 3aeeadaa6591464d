#include "platform/cpu/cpu_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <limits>
#include <utility>

#include "base/error.h"
#include "platform/memory_refusal.h"
#include "platform/posix/anonymous_pages.h"

namespace dlo::platform {

namespace {

// A range entered in one ledger. munmap also unlocks.
class Pages {
 public:
  Pages(std::shared_ptr<CpuMemory> memory, MemoryLedger& ledger, ByteSpan range,
        MemoryPurpose purpose)
      : memory_(std::move(memory)), ledger_(ledger), range_(range), purpose_(purpose) {}
  ~Pages() {
    // Past the streams' own bound an operation still uses the range: it is kept on purpose.
    if (memory_->streams->wait_idle() && !range_.empty()) {
      unmap_pages(range_);
    }
    ledger_.remove(range_.size(), purpose_);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  [[nodiscard]] ByteSpan range() const { return range_; }

 private:
  std::shared_ptr<CpuMemory> memory_;
  MemoryLedger& ledger_;
  ByteSpan range_;
  MemoryPurpose purpose_;
};

class CpuDeviceBuffer : public DeviceBuffer {
 public:
  explicit CpuDeviceBuffer(std::unique_ptr<Pages> pages) : pages_(std::move(pages)) {}
  [[nodiscard]] DeviceSpan span() const override {
    return DeviceSpan{pages_->range().data(), pages_->range().size()};
  }

 private:
  std::unique_ptr<Pages> pages_;
};

class CpuHostBuffer : public HostBuffer {
 public:
  CpuHostBuffer(std::unique_ptr<Pages> pages, bool pinned)
      : pages_(std::move(pages)), pinned_(pinned) {}
  [[nodiscard]] ByteSpan span() const override { return pages_->range(); }
  [[nodiscard]] bool pinned() const override { return pinned_; }

 private:
  std::unique_ptr<Pages> pages_;
  bool pinned_;
};

Result<std::unique_ptr<Pages>> allocate(const std::shared_ptr<CpuMemory>& memory,
                                        const MemoryKind& kind, MemoryLedger& ledger,
                                        std::uint64_t bytes, MemoryPurpose purpose) {
  if (!ledger.try_add(bytes, purpose)) {
    return budget_refusal(kind, ledger, bytes, purpose);
  }
  ByteSpan range;
  if (bytes > 0) {
    range = map_pages(bytes);
    if (range.empty()) {
      const int error_number = errno;
      ledger.remove(bytes, purpose);
      return system_refusal(kind, "mmap", bytes, purpose, errno_name(error_number));
    }
  }
  return std::make_unique<Pages>(memory, ledger, range, purpose);
}

}  // namespace

CpuMemory::CpuMemory(std::uint64_t device_budget_bytes, std::uint64_t pinned_budget_bytes,
                     std::shared_ptr<StreamSet> device_streams)
    : device(device_budget_bytes),
      pinned(pinned_budget_bytes),
      pageable(std::numeric_limits<std::uint64_t>::max()),
      streams(std::move(device_streams)) {}

Result<std::unique_ptr<DeviceBuffer>> allocate_cpu_device_memory(
    const std::shared_ptr<CpuMemory>& memory, std::uint64_t bytes, MemoryPurpose purpose) {
  auto pages = allocate(memory, kDeviceMemory, memory->device, bytes, purpose);
  if (!pages.ok()) {
    return pages.refusal();
  }
  return std::unique_ptr<DeviceBuffer>(std::make_unique<CpuDeviceBuffer>(std::move(*pages)));
}

Result<std::unique_ptr<HostBuffer>> allocate_cpu_pinned_memory(
    const std::shared_ptr<CpuMemory>& memory, std::uint64_t bytes, MemoryPurpose purpose) {
  auto pages = allocate(memory, kPinnedMemory, memory->pinned, bytes, purpose);
  if (!pages.ok()) {
    return pages.refusal();
  }
  const ByteSpan range = (*pages)->range();
  if (!range.empty() && ::mlock(range.data(), range.size()) != 0) {
    return system_refusal(kPinnedMemory, "mlock", bytes, purpose, errno_name(errno));
  }
  return std::unique_ptr<HostBuffer>(std::make_unique<CpuHostBuffer>(std::move(*pages), true));
}

Result<std::unique_ptr<HostBuffer>> allocate_cpu_pageable_memory(
    const std::shared_ptr<CpuMemory>& memory, std::uint64_t bytes, MemoryPurpose purpose) {
  auto pages = allocate(memory, kPageableMemory, memory->pageable, bytes, purpose);
  if (!pages.ok()) {
    return pages.refusal();
  }
  return std::unique_ptr<HostBuffer>(std::make_unique<CpuHostBuffer>(std::move(*pages), false));
}

}  // namespace dlo::platform
