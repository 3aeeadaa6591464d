#include "base/codes.h"
#include "base/error.h"
#include "model/torch_accelerator.h"

namespace dlo::model {

std::unique_ptr<TorchAccelerator> make_torch_accelerator(
    const platform::NativeStream& /*compute*/) {
  throw RunError(refuse(codes::kAcceleratorMissing, "this build has no CUDA half of torch",
                        "torch session", "build with the preset cuda"));
}

}  // namespace dlo::model
