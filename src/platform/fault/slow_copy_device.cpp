#include "platform/fault/slow_copy_device.h"

#include "platform/clock.h"

namespace dlo::platform {

SlowCopyDevice::SlowCopyDevice(std::unique_ptr<Device> inner, Nanoseconds delay)
    : ForwardingDevice(std::move(inner)), delay_(delay) {}

void SlowCopyDevice::copy_to_device(StreamKind stream, DeviceSpan destination, ConstByteSpan source,
                                    const OpLabel& label) {
  Clock& time = clock();
  inner().launch_host(
      stream, [&time, delay = delay_] { time.sleep(delay); }, label);
  inner().copy_to_device(stream, destination, source, label);
}

}  // namespace dlo::platform
