#include "platform/cuda/cuda_memory.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "platform/cuda/cuda_error.h"
#include "platform/memory_refusal.h"
#include "platform/posix/anonymous_pages.h"

namespace dlo::platform {

namespace {

class CudaDeviceBuffer : public DeviceBuffer {
 public:
  CudaDeviceBuffer(std::shared_ptr<CudaMemory> memory, DeviceSpan span, MemoryPurpose purpose)
      : memory_(std::move(memory)), span_(span), purpose_(purpose) {}
  CudaDeviceBuffer(const CudaDeviceBuffer&) = delete;
  CudaDeviceBuffer& operator=(const CudaDeviceBuffer&) = delete;
  ~CudaDeviceBuffer() override {
    if (span_.data != nullptr && memory_->streams->wait_idle() &&
        cudaFree(span_.data) != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
    }
    memory_->device.remove(span_.bytes, purpose_);
  }
  [[nodiscard]] DeviceSpan span() const override { return span_; }

 private:
  std::shared_ptr<CudaMemory> memory_;
  DeviceSpan span_;
  MemoryPurpose purpose_;
};

class CudaHostBuffer : public HostBuffer {
 public:
  CudaHostBuffer(std::shared_ptr<CudaMemory> memory, ByteSpan span, MemoryPurpose purpose,
                 bool pinned)
      : memory_(std::move(memory)), span_(span), purpose_(purpose), pinned_(pinned) {}
  CudaHostBuffer(const CudaHostBuffer&) = delete;
  CudaHostBuffer& operator=(const CudaHostBuffer&) = delete;
  ~CudaHostBuffer() override {
    if (!span_.empty()) {
      release();
    }
    (pinned_ ? memory_->pinned : memory_->pageable).remove(span_.size(), purpose_);
  }
  [[nodiscard]] ByteSpan span() const override { return span_; }
  [[nodiscard]] bool pinned() const override { return pinned_; }

 private:
  void release() noexcept {
    if (!pinned_) {
      unmap_pages(span_);
    } else if (memory_->streams->wait_idle() && cudaFreeHost(span_.data()) != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
    }
  }

  std::shared_ptr<CudaMemory> memory_;
  ByteSpan span_;
  MemoryPurpose purpose_;
  bool pinned_;
};

}  // namespace

Result<std::unique_ptr<DeviceBuffer>> allocate_cuda_device_memory(
    const std::shared_ptr<CudaMemory>& memory, std::uint64_t bytes, MemoryPurpose purpose) {
  if (!memory->device.try_add(bytes, purpose)) {
    return budget_refusal(kDeviceMemory, memory->device, bytes, purpose);
  }
  void* data = nullptr;
  if (bytes > 0) {
    if (const auto status = cudaMalloc(&data, bytes); status != cudaSuccess) {
      memory->device.remove(bytes, purpose);
      return system_refusal(kDeviceMemory, "cudaMalloc", bytes, purpose, cuda_error_text(status));
    }
  }
  return std::unique_ptr<DeviceBuffer>(std::make_unique<CudaDeviceBuffer>(
      memory, DeviceSpan{static_cast<std::byte*>(data), bytes}, purpose));
}

Result<std::unique_ptr<HostBuffer>> allocate_cuda_pinned_memory(
    const std::shared_ptr<CudaMemory>& memory, std::uint64_t bytes, MemoryPurpose purpose) {
  if (!memory->pinned.try_add(bytes, purpose)) {
    return budget_refusal(kPinnedMemory, memory->pinned, bytes, purpose);
  }
  void* data = nullptr;
  if (bytes > 0) {
    // Exact size, where torch's pinned pool rounds up to a power of two.
    if (const auto status = cudaHostAlloc(&data, bytes, cudaHostAllocDefault);
        status != cudaSuccess) {
      memory->pinned.remove(bytes, purpose);
      return system_refusal(kPinnedMemory, "cudaHostAlloc", bytes, purpose,
                            cuda_error_text(status));
    }
    std::memset(data, 0, bytes);
  }
  return std::unique_ptr<HostBuffer>(std::make_unique<CudaHostBuffer>(
      memory, ByteSpan(static_cast<std::byte*>(data), bytes), purpose, /*pinned=*/true));
}

Result<std::unique_ptr<HostBuffer>> allocate_cuda_pageable_memory(
    const std::shared_ptr<CudaMemory>& memory, std::uint64_t bytes, MemoryPurpose purpose) {
  ByteSpan range;
  if (bytes > 0) {
    range = map_pages(bytes);
    if (range.empty()) {
      return system_refusal(kPageableMemory, "mmap", bytes, purpose, errno_name(errno));
    }
  }
  require(memory->pageable.try_add(bytes, purpose), "pageable memory has no budget");
  return std::unique_ptr<HostBuffer>(
      std::make_unique<CudaHostBuffer>(memory, range, purpose, /*pinned=*/false));
}

}  // namespace dlo::platform
