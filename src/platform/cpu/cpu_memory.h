// Owns: the memory of the CPU device: anonymous mappings of three kinds, their books, and when
// they may go: as with cudaFree, memory is released behind the operations issued before.
// Must not own: streams. Threading: any thread. Failure: refusals with device_out_of_memory,
// pin_failed or host_out_of_memory; nothing is entered in the books then.
#pragma once

#include <memory>

#include "platform/cpu/stream_set.h"
#include "platform/memory_ledger.h"

namespace dlo::platform {

// Shared by the device and its buffers, which may outlive it.
struct CpuMemory {
  CpuMemory(std::uint64_t device_budget_bytes, std::uint64_t pinned_budget_bytes,
            std::shared_ptr<StreamSet> device_streams);

  MemoryLedger device;
  MemoryLedger pinned;
  MemoryLedger pageable;
  std::shared_ptr<StreamSet> streams;
};

[[nodiscard]] Result<std::unique_ptr<DeviceBuffer>> allocate_cpu_device_memory(
    const std::shared_ptr<CpuMemory>& memory, std::uint64_t bytes, MemoryPurpose purpose);
[[nodiscard]] Result<std::unique_ptr<HostBuffer>> allocate_cpu_pinned_memory(
    const std::shared_ptr<CpuMemory>& memory, std::uint64_t bytes, MemoryPurpose purpose);
[[nodiscard]] Result<std::unique_ptr<HostBuffer>> allocate_cpu_pageable_memory(
    const std::shared_ptr<CpuMemory>& memory, std::uint64_t bytes, MemoryPurpose purpose);

}  // namespace dlo::platform
