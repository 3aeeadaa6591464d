// Owns: the simulated memories of one rank: aligned host memory that plays device, pinned and
// pageable memory, with budgets and books by purpose.
// Must not own: copies. Buffers share ownership of the books, so a buffer may outlive its device;
// live_buffer_count() tells what a finished run still holds.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "platform/device.h"

namespace dlo::platform::sim {

struct MemoryBudgets {
  std::optional<std::uint64_t> device_bytes;
  std::optional<std::uint64_t> pinned_bytes;
};

class SimMemory : public std::enable_shared_from_this<SimMemory> {
 public:
  explicit SimMemory(const MemoryBudgets& budgets) : budgets_(budgets) {}

  [[nodiscard]] Result<std::unique_ptr<DeviceBuffer>> allocate_device(std::uint64_t bytes,
                                                                      MemoryPurpose purpose);
  [[nodiscard]] Result<std::unique_ptr<HostBuffer>> allocate_host(std::uint64_t bytes, bool pinned);

  [[nodiscard]] MemoryUse device() const { return device_; }
  [[nodiscard]] MemoryUse device(MemoryPurpose purpose) const;
  [[nodiscard]] MemoryUse pinned() const { return pinned_; }
  [[nodiscard]] MemoryUse pageable() const { return pageable_; }
  [[nodiscard]] std::size_t live_buffer_count() const { return live_buffer_count_; }

 private:
  friend class SimDeviceBuffer;
  friend class SimHostBuffer;

  static constexpr std::size_t kPurposeCount = static_cast<std::size_t>(MemoryPurpose::kOther) + 1;

  MemoryBudgets budgets_;
  MemoryUse device_;
  std::array<MemoryUse, kPurposeCount> device_by_purpose_{};
  MemoryUse pinned_;
  MemoryUse pageable_;
  std::size_t live_buffer_count_ = 0;
};

}  // namespace dlo::platform::sim
