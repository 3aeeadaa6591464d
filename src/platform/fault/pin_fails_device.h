// Owns: PinFailsDevice, the decorator of a rank that cannot pin: page-locked allocations beyond
// the first `allowed` are refused with pin_failed.
// Must not own: what a refusal leads to. Threading and failure: those of the device below.
#pragma once

#include "platform/forwarding_device.h"

namespace dlo::platform {

class PinFailsDevice : public ForwardingDevice {
 public:
  PinFailsDevice(std::unique_ptr<Device> inner, std::uint64_t allowed_allocations);

  [[nodiscard]] Result<std::unique_ptr<HostBuffer>> allocate_pinned(std::uint64_t bytes,
                                                                    MemoryPurpose purpose) override;

 private:
  std::uint64_t allowed_allocations_;
};

}  // namespace dlo::platform
