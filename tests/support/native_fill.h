// Owns: fill_native, the fill of device memory in the order of a native stream: native_fill_cuda
// where CUDA is in the build, native_fill_absent elsewhere. Test-only.
// Must not own: what is filled when. Threading: the stream's launching thread. Failure: CudaError;
// without CUDA a LogicError, for no platform has native streams then.
#pragma once

#include "base/tensor_view.h"
#include "platform/device.h"

namespace dlo::test_support {

// Every byte of `span` becomes `byte` (0 to 255). Precondition: `stream` is present.
void fill_native(const platform::NativeStream& stream, DeviceSpan span, int byte);

}  // namespace dlo::test_support
