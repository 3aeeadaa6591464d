// Owns: how an exception that left a stream's task becomes the device's refusal, alike on every
// platform. Must not own: what the device does with it. A pure function, any thread.
#pragma once

#include <exception>

#include "base/refusal.h"
#include "platform/op_label.h"

namespace dlo::platform {

// Of a RunError its own refusal; of another Error its code; internal_error otherwise.
[[nodiscard]] Refusal task_refusal(const std::exception_ptr& thrown, const OpLabel& label);

}  // namespace dlo::platform
