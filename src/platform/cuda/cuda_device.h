// Owns: the CUDA platform's Device: four streams with priorities, preallocated events, device and
// pinned memory of exact size with budgets, copies, and host waits that poll with a deadline.
// Must not own: torch (model/ wraps native_stream()), collectives (comm/nccl), weights.
// CUDA runtime only. One launching thread a device: the one that constructs it, which has the
// ordinal current from then on. launch() runs its task at once on that thread, so a task enqueues
// its kernels on the native stream and never synchronises.
// Failure: as platform/device.h. A refused allocation drains CUDA's pending error; a failed stream
// operation fails the device with cuda_failed, number and name in the text.
#pragma once

#include <limits>
#include <memory>

#include "base/failure_signal.h"
#include "platform/clock.h"
#include "platform/device.h"

namespace dlo::platform {

struct CudaDeviceOptions {
  int rank = 0;     // world rank, for failures
  int ordinal = 0;  // CUDA device of this rank
  // The imposed limit on HBM; model/ caps torch's allocator by what it leaves.
  std::uint64_t device_budget_bytes = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t pinned_budget_bytes = std::numeric_limits<std::uint64_t>::max();
  Nanoseconds clear_timeout = 60 * kSecond;  // clearing new memory; room for a host task
  // How long the device's and its buffers' destructors wait for busy streams, once for all.
  Nanoseconds idle_timeout = 10 * kSecond;
};

// Throws CudaError when the ordinal cannot be used. `clock` and `signal` outlive the device;
// buffers may outlive it.
[[nodiscard]] std::unique_ptr<Device> make_cuda_device(const CudaDeviceOptions& options,
                                                       Clock& clock, FailureSignal& signal);

}  // namespace dlo::platform
