// Owns: CudaStreams, the four streams of one CUDA device of ours, shared by the device and its
// buffers, which may outlive it: memory that a stream may still touch is never freed.
// Must not own: what runs on the streams. Threading: any thread.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>

#include "platform/device.h"

namespace dlo::platform {

class CudaStreams {
 public:
  // On the current device; throws CudaError. Gathers and copies have the higher priority: one that
  // waits behind the blocks of a running kernel delays the whole ring.
  explicit CudaStreams(Nanoseconds idle_timeout);
  ~CudaStreams();
  CudaStreams(const CudaStreams&) = delete;
  CudaStreams& operator=(const CudaStreams&) = delete;

  [[nodiscard]] cudaStream_t at(StreamKind kind) const {
    return streams_[static_cast<std::size_t>(kind)];
  }
  // True when no stream has anything left to do; a failed stream counts so. Waits up to the bound
  // once; past it streams count as stuck and later calls only look. cudaFree and its like would
  // wait without any bound.
  [[nodiscard]] bool wait_idle() noexcept;

 private:
  [[nodiscard]] bool idle() const noexcept;

  Nanoseconds idle_timeout_;
  std::array<cudaStream_t, kStreamCount> streams_{};
  std::atomic<bool> stuck_{false};
};

}  // namespace dlo::platform
