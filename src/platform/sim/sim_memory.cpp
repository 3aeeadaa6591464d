#include "platform/sim/sim_memory.h"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "platform/memory_refusal.h"

namespace dlo::platform::sim {

namespace {

constexpr std::uint64_t kNoBudget = std::numeric_limits<std::uint64_t>::max();

struct FreeDeleter {
  void operator()(std::byte* bytes) const { std::free(bytes); }  // NOLINT: aligned_alloc's pair
};
using Block = std::unique_ptr<std::byte, FreeDeleter>;

Block make_block(std::uint64_t bytes) {
  if (bytes == 0) {
    return nullptr;
  }
  const auto rounded = round_up(bytes, kTensorAlignmentBytes);
  auto* data = static_cast<std::byte*>(std::aligned_alloc(kTensorAlignmentBytes, rounded));
  require(data != nullptr, "the simulator ran out of memory");
  std::memset(data, 0, rounded);
  return Block(data);
}

// Memory that is entered in a ledger until it goes.
class Entry {
 public:
  // Precondition: the ledger has `bytes` of `purpose` entered for it.
  Entry(std::shared_ptr<SimMemory> memory, MemoryLedger& ledger, std::uint64_t bytes,
        MemoryPurpose purpose)
      : memory_(std::move(memory)),
        ledger_(&ledger),
        block_(make_block(bytes)),
        bytes_(bytes),
        purpose_(purpose) {}
  ~Entry() { ledger_->remove(bytes_, purpose_); }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  [[nodiscard]] std::byte* data() const { return block_.get(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<SimMemory> memory_;  // whose ledger it is
  MemoryLedger* ledger_;
  Block block_;
  std::uint64_t bytes_;
  MemoryPurpose purpose_;
};

class SimDeviceBuffer : public DeviceBuffer {
 public:
  explicit SimDeviceBuffer(std::unique_ptr<Entry> entry) : entry_(std::move(entry)) {}
  [[nodiscard]] DeviceSpan span() const override {
    return DeviceSpan{entry_->data(), entry_->bytes()};
  }

 private:
  std::unique_ptr<Entry> entry_;
};

class SimHostBuffer : public HostBuffer {
 public:
  SimHostBuffer(std::unique_ptr<Entry> entry, bool pinned)
      : entry_(std::move(entry)), pinned_(pinned) {}
  [[nodiscard]] ByteSpan span() const override { return ByteSpan(entry_->data(), entry_->bytes()); }
  [[nodiscard]] bool pinned() const override { return pinned_; }

 private:
  std::unique_ptr<Entry> entry_;
  bool pinned_;
};

Result<std::unique_ptr<Entry>> enter(std::shared_ptr<SimMemory> memory, const MemoryKind& kind,
                                     MemoryLedger& ledger, std::uint64_t bytes,
                                     MemoryPurpose purpose) {
  if (!ledger.try_add(bytes, purpose)) {
    return budget_refusal(kind, ledger, bytes, purpose);
  }
  return std::make_unique<Entry>(std::move(memory), ledger, bytes, purpose);
}

}  // namespace

SimMemory::SimMemory(const MemoryBudgets& budgets)
    : device_(budgets.device_bytes.value_or(kNoBudget)),
      pinned_(budgets.pinned_bytes.value_or(kNoBudget)),
      pageable_(kNoBudget) {}

Result<std::unique_ptr<DeviceBuffer>> SimMemory::allocate_device(std::uint64_t bytes,
                                                                 MemoryPurpose purpose) {
  auto entry = enter(shared_from_this(), kDeviceMemory, device_, bytes, purpose);
  if (!entry.ok()) {
    return entry.refusal();
  }
  return std::unique_ptr<DeviceBuffer>(std::make_unique<SimDeviceBuffer>(std::move(*entry)));
}

Result<std::unique_ptr<HostBuffer>> SimMemory::allocate_pinned(std::uint64_t bytes,
                                                               MemoryPurpose purpose) {
  auto entry = enter(shared_from_this(), kPinnedMemory, pinned_, bytes, purpose);
  if (!entry.ok()) {
    return entry.refusal();
  }
  return std::unique_ptr<HostBuffer>(std::make_unique<SimHostBuffer>(std::move(*entry), true));
}

Result<std::unique_ptr<HostBuffer>> SimMemory::allocate_pageable(std::uint64_t bytes,
                                                                 MemoryPurpose purpose) {
  auto entry = enter(shared_from_this(), kPageableMemory, pageable_, bytes, purpose);
  if (!entry.ok()) {
    return entry.refusal();
  }
  return std::unique_ptr<HostBuffer>(std::make_unique<SimHostBuffer>(std::move(*entry), false));
}

std::uint64_t SimMemory::live_buffer_count() const {
  return device_.use().now_count + pinned_.use().now_count + pageable_.use().now_count;
}

}  // namespace dlo::platform::sim
