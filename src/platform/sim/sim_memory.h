// Owns: the simulated memories of one rank: aligned host memory that plays device, pinned and
// pageable memory, each with the platform's books and budget (platform/memory_ledger.h).
// Must not own: copies. Buffers share ownership of the books, so a buffer may outlive its device;
// live_buffer_count() tells what a finished run still holds.
#pragma once

#include <memory>
#include <optional>

#include "platform/memory_ledger.h"

namespace dlo::platform::sim {

struct MemoryBudgets {
  std::optional<std::uint64_t> device_bytes;
  std::optional<std::uint64_t> pinned_bytes;
};

class SimMemory : public std::enable_shared_from_this<SimMemory> {
 public:
  explicit SimMemory(const MemoryBudgets& budgets);

  // Codes: device_out_of_memory.
  [[nodiscard]] Result<std::unique_ptr<DeviceBuffer>> allocate_device(std::uint64_t bytes,
                                                                      MemoryPurpose purpose);
  // Codes: pin_failed.
  [[nodiscard]] Result<std::unique_ptr<HostBuffer>> allocate_pinned(std::uint64_t bytes,
                                                                    MemoryPurpose purpose);
  [[nodiscard]] Result<std::unique_ptr<HostBuffer>> allocate_pageable(std::uint64_t bytes,
                                                                      MemoryPurpose purpose);

  [[nodiscard]] const MemoryLedger& device() const { return device_; }
  [[nodiscard]] const MemoryLedger& pinned() const { return pinned_; }
  [[nodiscard]] const MemoryLedger& pageable() const { return pageable_; }
  [[nodiscard]] std::uint64_t live_buffer_count() const;

 private:
  MemoryLedger device_;
  MemoryLedger pinned_;
  MemoryLedger pageable_;
};

}  // namespace dlo::platform::sim
