// Owns: CUDA device memory and pinned memory of exact size, pageable memory, and their books.
// Must not own: streams, or the clearing of new device memory (cuda_device).
// Threading: any thread with the device current. Buffers are freed by their destructors, which
// never throw: an error of cudaFree at teardown is drained and ignored. Memory that a stuck stream
// may still touch stays with the process.
#pragma once

#include <limits>
#include <memory>
#include <utility>

#include "platform/cuda/cuda_streams.h"
#include "platform/device.h"
#include "platform/memory_ledger.h"

namespace dlo::platform {

// Shared by the device and its buffers, which may outlive it.
struct CudaMemory {
  CudaMemory(std::uint64_t device_budget_bytes, std::uint64_t pinned_budget_bytes,
             std::shared_ptr<CudaStreams> device_streams)
      : streams(std::move(device_streams)),
        device(device_budget_bytes),
        pinned(pinned_budget_bytes),
        pageable(std::numeric_limits<std::uint64_t>::max()) {}

  std::shared_ptr<CudaStreams> streams;
  MemoryLedger device;
  MemoryLedger pinned;
  MemoryLedger pageable;
};

// Not cleared. Codes: device_out_of_memory.
[[nodiscard]] Result<std::unique_ptr<DeviceBuffer>> allocate_cuda_device_memory(
    const std::shared_ptr<CudaMemory>& memory, std::uint64_t bytes, MemoryPurpose purpose);
// Zeroed, page-locked from the start, of exact size. Codes: pin_failed.
[[nodiscard]] Result<std::unique_ptr<HostBuffer>> allocate_cuda_pinned_memory(
    const std::shared_ptr<CudaMemory>& memory, std::uint64_t bytes, MemoryPurpose purpose);
// Zeroed. Codes: host_out_of_memory.
[[nodiscard]] Result<std::unique_ptr<HostBuffer>> allocate_cuda_pageable_memory(
    const std::shared_ptr<CudaMemory>& memory, std::uint64_t bytes, MemoryPurpose purpose);

}  // namespace dlo::platform
