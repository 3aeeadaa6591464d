// Owns: TorchSession, one rank's settings of torch on its launching thread: threads on the CPU;
// on CUDA the platform's compute stream as torch's current one, a cap on torch's allocator, its
// statistics, and whether a stray synchronisation is an error. Free of torch.
// Must not own: streams, memory of the platform, models.
// Arithmetic is fixed for every session of the process, so that two runs of it can be compared byte
// by byte: no TF32, no autotuning. Which kernel the fused attention takes is torch's choice, by
// hardware, dtype and shape, the same every time; fused_attention_kernel() names it.
// Threading: the launching thread. Several sessions may be alive in one process, of one GPU too:
// whoever launches next calls activate(). Cap and statistics belong to the GPU, not to the session.
// Failure: what torch refuses is thrown as RunError (model/torch_task.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/dtype.h"
#include "model/torch_accelerator.h"
#include "platform/device.h"

namespace dlo::model {

// A forward that waits for the device stalls its launching thread, and with it every transfer.
enum class StraySynchronisation : std::uint8_t { kAllowed, kIsAnError };

struct TorchSessionOptions {
  int compute_threads = 1;  // intra-op, on the thread that runs tasks of the compute stream
  // On CUDA, of the process: device_failed for the task whose torch operation waits for the device.
  StraySynchronisation stray_synchronisation = StraySynchronisation::kAllowed;
};

// The kernel family that AttentionBackend::kFused takes for heads of 128 channels in `dtype` (F32
// or BF16) on `device`: "cudnn", "flash", "efficient" or "math". Throws as TorchSession does.
[[nodiscard]] std::string_view fused_attention_kernel(const platform::Device& device, DType dtype);

class TorchSession {
 public:
  // Activates itself. `device` outlives the session. Throws RunError accelerator_missing when the
  // device is a CUDA device and the build has no CUDA, device_failed when torch cannot use it.
  TorchSession(platform::Device& device, const TorchSessionOptions& options);
  // Allows synchronisation again and lifts the limit; waits for nothing.
  ~TorchSession();
  TorchSession(const TorchSession&) = delete;
  TorchSession& operator=(const TorchSession&) = delete;

  // Makes the platform's compute stream torch's current one on this thread. Two plain assignments.
  void activate();

  // Of torch's allocator on CUDA: the imposed limit less what the platform has taken. What asks for
  // more fails with device_out_of_memory.
  void limit_memory(std::uint64_t bytes);

  // None on the CPU, where torch keeps no books.
  [[nodiscard]] std::optional<TorchMemory> memory() const;
  // Peaks become what is held now.
  void reset_peaks();
  // Gives the workspaces of matrix products back to torch's allocator, which returns them to the
  // device when a later run needs the room. Waits for nothing: after a failure too.
  void release_workspaces();
  // Gives unused memory back to the device. Waits for it, so only for a device in good order
  // between runs: never after a failed collective.
  void release_cached();

 private:
  std::unique_ptr<TorchAccelerator> accelerator_;  // null on the CPU
};

}  // namespace dlo::model
