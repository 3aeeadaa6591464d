#include "platform/cpu/cpu_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <limits>
#include <utility>

#include "base/codes.h"
#include "base/error.h"

namespace dlo::platform {

namespace {

// Zeroed pages of exactly `bytes`; null data for zero bytes. Empty span with errno on failure.
ByteSpan map_pages(std::uint64_t bytes) {
  void* const start =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return start == MAP_FAILED ? ByteSpan{} : ByteSpan(static_cast<std::byte*>(start), bytes);
}

// A range entered in one ledger. munmap also unlocks.
class Pages {
 public:
  Pages(std::shared_ptr<CpuMemory> memory, MemoryLedger& ledger, ByteSpan range,
        MemoryPurpose purpose)
      : memory_(std::move(memory)), ledger_(ledger), range_(range), purpose_(purpose) {}
  ~Pages() {
    // Past the streams' own bound an operation still uses the range: it is kept on purpose.
    if (memory_->streams->wait_idle() && !range_.empty()) {
      ::munmap(range_.data(), range_.size());
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

struct Kind {
  std::string_view code;
  std::string_view name;
  std::string_view action;
};

constexpr Kind kDevice{codes::kDeviceOutOfMemory, "device memory",
                       "lower the prefetch depth or the model size, or raise the device budget"};
constexpr Kind kPinned{codes::kPinFailed, "page-locked memory",
                       "raise the limit on locked memory (ulimit -l) or the pinned budget, or run "
                       "with pin_cpu_memory=false"};
constexpr Kind kPageable{codes::kHostOutOfMemory, "host memory",
                         "use more ranks or a smaller model"};

Refusal budget_refusal(const Kind& kind, const MemoryLedger& ledger, std::uint64_t bytes,
                       MemoryPurpose purpose) {
  return refuse(kind.code,
                fmt::format("{} of {} do not fit the budget: {} of {} are in use",
                            format_bytes(bytes), kind.name, format_bytes(ledger.use().now_bytes),
                            format_bytes(ledger.budget_bytes())),
                std::string(memory_purpose_name(purpose)), std::string(kind.action));
}

Refusal system_refusal(const Kind& kind, std::string_view call, std::uint64_t bytes,
                       MemoryPurpose purpose, int error_number) {
  return refuse(kind.code,
                fmt::format("{} refused {} of {}: {}", call, format_bytes(bytes), kind.name,
                            errno_name(error_number)),
                std::string(memory_purpose_name(purpose)), std::string(kind.action));
}

Result<std::unique_ptr<Pages>> allocate(const std::shared_ptr<CpuMemory>& memory, const Kind& kind,
                                        MemoryLedger& ledger, std::uint64_t bytes,
                                        MemoryPurpose purpose) {
  if (!ledger.try_add(bytes, purpose)) {
    return budget_refusal(kind, ledger, bytes, purpose);
  }
  ByteSpan range;
  if (bytes > 0) {
    range = map_pages(bytes);
    if (range.empty()) {
      const int error_number = errno;
      ledger.remove(bytes, purpose);
      return system_refusal(kind, "mmap", bytes, purpose, error_number);
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
  auto pages = allocate(memory, kDevice, memory->device, bytes, purpose);
  if (!pages.ok()) {
    return pages.refusal();
  }
  return std::unique_ptr<DeviceBuffer>(std::make_unique<CpuDeviceBuffer>(std::move(*pages)));
}

Result<std::unique_ptr<HostBuffer>> allocate_cpu_pinned_memory(
    const std::shared_ptr<CpuMemory>& memory, std::uint64_t bytes, MemoryPurpose purpose) {
  auto pages = allocate(memory, kPinned, memory->pinned, bytes, purpose);
  if (!pages.ok()) {
    return pages.refusal();
  }
  const ByteSpan range = (*pages)->range();
  if (!range.empty() && ::mlock(range.data(), range.size()) != 0) {
    return system_refusal(kPinned, "mlock", bytes, purpose, errno);
  }
  return std::unique_ptr<HostBuffer>(std::make_unique<CpuHostBuffer>(std::move(*pages), true));
}

Result<std::unique_ptr<HostBuffer>> allocate_cpu_pageable_memory(
    const std::shared_ptr<CpuMemory>& memory, std::uint64_t bytes, MemoryPurpose purpose) {
  auto pages = allocate(memory, kPageable, memory->pageable, bytes, purpose);
  if (!pages.ok()) {
    return pages.refusal();
  }
  return std::unique_ptr<HostBuffer>(std::make_unique<CpuHostBuffer>(std::move(*pages), false));
}

}  // namespace dlo::platform
