// Owns: how a stream task of the model calls torch: under inference mode, with torch's exceptions
// turned into RunError, so that the device fails under a stable code.
// Must not own: the work, or what a device does with the error (platform/task_refusal.h).
// Threading: inside compute-stream tasks.
#pragma once

#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>

#include <utility>

#include "base/error.h"
#include "platform/op_label.h"

namespace dlo::model {

// device_out_of_memory when torch's allocator found none, device_failed otherwise; with the first
// line of torch's message, without its backtrace.
[[nodiscard]] RunError torch_failure(const c10::Error& error, const platform::OpLabel& label);

// Runs `work` as the task `label`. Throws what torch_failure() makes of a torch exception; others
// pass through.
template <typename Work>
void run_torch_task(const platform::OpLabel& label, Work&& work) {
  const c10::InferenceMode guard;
  try {
    std::forward<Work>(work)();
  } catch (const c10::Error& error) {
    throw torch_failure(error, label);
  }
}

}  // namespace dlo::model
