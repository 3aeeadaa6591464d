// Owns: ComputeDevice, where torch computes: the CPU or one CUDA ordinal. Free of torch.
// Must not own: streams or settings (torch_session.h). A plain value.
#pragma once

#include "platform/device.h"

namespace dlo::model {

struct ComputeDevice {
  int cuda_ordinal = -1;  // -1: the CPU

  [[nodiscard]] bool is_cuda() const { return cuda_ordinal >= 0; }
  friend bool operator==(const ComputeDevice&, const ComputeDevice&) = default;
};

// Where tasks of `device`'s compute stream compute.
[[nodiscard]] inline ComputeDevice compute_device(const platform::Device& device) {
  return ComputeDevice{device.native_stream(platform::StreamKind::kCompute).ordinal};
}

}  // namespace dlo::model
