// Owns: DeviceTensor, a non-owning contiguous tensor in device memory, for callers of a model that
// do not include torch themselves.
// Must not own: the bytes; the buffer outlives every enqueued operation that reads or writes it.
// Threading: a plain value. Stream tasks turn it into a torch view (model/torch_views.h).
#pragma once

#include "base/tensor_view.h"

namespace dlo::model {

struct DeviceTensor {
  DeviceSpan span;  // at least the bytes of a contiguous tensor of `shape` and `dtype`
  DType dtype = DType::kF32;
  Shape shape;
};

}  // namespace dlo::model
