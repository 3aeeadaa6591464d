// Owns: StrictDevice, the decorator under which torch throws where it would wait for the device,
// from the second forward on: a forward must only enqueue. Test-only, of builds with CUDA. Must not
// own: waits of the platform itself, which have deadlines. Threading: the launching thread; one
// such device a process, for torch's switch is the process's.
#pragma once

#include <c10/cuda/CUDAFunctions.h>

#include <utility>

#include "platform/forwarding_device.h"

namespace dlo::test_support {

class StrictDevice final : public platform::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  ~StrictDevice() override { set(c10::cuda::SyncDebugMode::L_DISABLED); }

  void launch(platform::StreamKind stream, platform::StreamTask task,
              const platform::OpLabel& label) override {
    if (label.site == platform::Site::kCompute && label.block == 0 && ++forward_count_ == 2) {
      set(c10::cuda::SyncDebugMode::L_ERROR);
    }
    ForwardingDevice::launch(stream, std::move(task), label);
  }

 private:
  static void set(c10::cuda::SyncDebugMode mode) {
    c10::cuda::warning_state().set_sync_debug_mode(mode);
  }

  int forward_count_ = 0;
};

}  // namespace dlo::test_support
