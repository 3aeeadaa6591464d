#include "model/torch_task.h"

#include <string>
#include <string_view>

#include "base/codes.h"

namespace dlo::model {

RunError torch_failure(const c10::Error& error, const platform::OpLabel& label) {
  const std::string_view message = error.what_without_backtrace();
  const std::string first_line = "torch: " + std::string(message.substr(0, message.find('\n')));
  const bool no_memory = dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr;
  return RunError(no_memory
                      ? refuse(codes::kDeviceOutOfMemory, first_line, platform::label_text(label),
                               "raise the limit on device memory, or ask for a smaller latent grid")
                      : refuse(codes::kDeviceFailed, first_line, platform::label_text(label),
                               "see torch's message"));
}

}  // namespace dlo::model
