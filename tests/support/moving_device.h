// Owns: MovingDevice, the mutant that issues records or waits of one site on another stream than
// the protocol says: the guard exists, and protects the wrong stream. Test-only. Must not own:
// which sites are moved. Threading: as the device below.
#pragma once

#include <memory>
#include <utility>

#include "platform/forwarding_device.h"

namespace dlo::test_support {

class MovingDevice : public platform::ForwardingDevice {
 public:
  // Records and waits whose label is of `site` go to `stream`.
  MovingDevice(std::unique_ptr<platform::Device> inner, platform::Site site,
               platform::StreamKind stream)
      : ForwardingDevice(std::move(inner)), site_(site), stream_(stream) {}

  void record(platform::EventId event, platform::StreamKind stream,
              const platform::OpLabel& label) override {
    ForwardingDevice::record(event, moved(stream, label), label);
  }

  void wait(platform::StreamKind stream, platform::EventId event,
            const platform::OpLabel& label) override {
    ForwardingDevice::wait(moved(stream, label), event, label);
  }

 private:
  [[nodiscard]] platform::StreamKind moved(platform::StreamKind stream,
                                           const platform::OpLabel& label) const {
    return label.site == site_ ? stream_ : stream;
  }

  platform::Site site_;
  platform::StreamKind stream_;
};

}  // namespace dlo::test_support
