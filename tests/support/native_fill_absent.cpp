#include "base/error.h"
#include "tests/support/native_fill.h"

namespace dlo::test_support {

void fill_native(const platform::NativeStream& /*stream*/, DeviceSpan /*span*/, int /*byte*/) {
  require(false, "a native stream in a build without CUDA");
}

}  // namespace dlo::test_support
