#include <cuda_runtime_api.h>

#include "platform/cuda/cuda_error.h"
#include "tests/support/native_fill.h"

namespace dlo::test_support {

void fill_native(const platform::NativeStream& stream, DeviceSpan span, int byte) {
  platform::check_cuda(
      cudaMemsetAsync(span.data, byte, span.bytes, static_cast<cudaStream_t>(stream.handle)),
      "cannot fill device memory");
}

}  // namespace dlo::test_support
