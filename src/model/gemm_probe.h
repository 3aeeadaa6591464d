// Owns: GemmProbe, a series of square matrix products on a device's compute stream, by the library
// that the model computes with: what a calibration measures compute with. Free of torch.
// Must not own: timing. Operands are platform memory (purpose other), filled once with normal noise
// (the power that a product draws depends on its values).
// Threading: launching thread; the probe outlives what it launched.
// Failure: codes of the device's memory; a task that throws fails the device.
#pragma once

#include <cstdint>
#include <memory>

#include "base/dtype.h"
#include "base/result.h"
#include "platform/device.h"

namespace dlo::model {

class GemmProbe {
 public:
  virtual ~GemmProbe() = default;

  // Enqueues `count` products, one after another, as one operation of the compute stream.
  virtual void launch(int count) = 0;
};

// Products of n x n matrices of `dtype` (F32 or BF16). `device` outlives the probe. Codes:
// device_out_of_memory.
[[nodiscard]] Result<std::unique_ptr<GemmProbe>> make_gemm_probe(platform::Device& device,
                                                                 std::int64_t n, DType dtype);

}  // namespace dlo::model
