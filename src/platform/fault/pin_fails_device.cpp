#include "platform/fault/pin_fails_device.h"

#include <fmt/format.h>

#include "base/codes.h"

namespace dlo::platform {

PinFailsDevice::PinFailsDevice(std::unique_ptr<Device> inner, std::uint64_t allowed_allocations)
    : ForwardingDevice(std::move(inner)), allowed_allocations_(allowed_allocations) {}

Result<std::unique_ptr<HostBuffer>> PinFailsDevice::allocate_pinned(std::uint64_t bytes,
                                                                    MemoryPurpose purpose) {
  if (allowed_allocations_ == 0) {
    return refuse(codes::kPinFailed,
                  fmt::format("{} could not be page-locked (injected fault)", format_bytes(bytes)),
                  std::string(memory_purpose_name(purpose)),
                  "remove the fault from the scenario, or run with pin_cpu_memory=false");
  }
  --allowed_allocations_;
  return inner().allocate_pinned(bytes, purpose);
}

}  // namespace dlo::platform
