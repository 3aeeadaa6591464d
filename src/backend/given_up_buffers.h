// Owns: buffers that disable() gives up because a stream may still touch them: they stay mapped for
// as long as the process lives, and reachable, so that a leak checker can tell them from a leak.
// Must not own: the decision. Threading: any thread. Failure: none; without memory for the list a
// buffer is given up all the same.
#pragma once

#include <memory>

#include "platform/device.h"

namespace dlo::backend {

void give_up(std::unique_ptr<platform::DeviceBuffer> buffer) noexcept;
void give_up(std::unique_ptr<platform::HostBuffer> buffer) noexcept;

}  // namespace dlo::backend
