// Owns: TorchAccelerator, the part of torch that exists per accelerator: its current stream, its
// caching allocator, its watch over stray synchronisation. Implemented in cuda/, and by a refusal
// in builds without it. Free of torch; for torch_session.cpp alone. Must not own: the platform's
// streams and memory, settings that every device shares. Threading: the launching thread. Failure:
// torch's exceptions pass through.
#pragma once

#include <cstdint>
#include <memory>

#include "platform/device.h"

namespace dlo::model {

// Of torch's caching allocator: what tensors hold, and what it took from the device for them.
struct TorchMemory {
  platform::MemoryUse allocated;
  platform::MemoryUse reserved;
};

class TorchAccelerator {
 public:
  virtual ~TorchAccelerator() = default;

  virtual void activate() = 0;
  // A later allocation that would reserve more fails with torch's out-of-memory error.
  virtual void limit_memory(std::uint64_t bytes) = 0;
  virtual void refuse_synchronisation(bool refuse) = 0;
  [[nodiscard]] virtual TorchMemory memory() const = 0;
  virtual void reset_peaks() = 0;
  virtual void release_workspaces() = 0;
  virtual void release_cached() = 0;  // workspaces too
};

// Precondition: compute.present(). Throws RunError accelerator_missing in a build without CUDA.
[[nodiscard]] std::unique_ptr<TorchAccelerator> make_torch_accelerator(
    const platform::NativeStream& compute);

}  // namespace dlo::model
