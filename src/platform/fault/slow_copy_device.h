// Owns: SlowCopyDevice, the decorator of a slow link: before each host-to-device copy its stream
// sleeps, so that a missing event wait shows as wrong bytes. The issuing thread is not held up.
// Must not own: which copies a run makes. Threading and failure: those of the device below.
#pragma once

#include "platform/forwarding_device.h"

namespace dlo::platform {

class SlowCopyDevice : public ForwardingDevice {
 public:
  // Every copy_to_device takes at least `delay`. A host task of its label precedes each copy.
  SlowCopyDevice(std::unique_ptr<Device> inner, Nanoseconds delay);

  void copy_to_device(StreamKind stream, DeviceSpan destination, ConstByteSpan source,
                      const OpLabel& label) override;

 private:
  Nanoseconds delay_;
};

}  // namespace dlo::platform
