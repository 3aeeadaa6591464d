// Owns: DelayDevice, a decorator that makes chosen operations slow: the stream sleeps before them,
// the issuing thread does not wait. Slow computes show a missing free wait, slow copies a missing
// ready wait.
// Must not own: which operations are slow; the test's function says. Threading and failure: those
// of the device below.
#pragma once

#include <functional>

#include "platform/clock.h"
#include "platform/forwarding_device.h"
#include "tests/property/backend/synthetic_job.h"

namespace dlo::test {

class DelayDevice final : public platform::ForwardingDevice {
 public:
  // 0 for an operation that keeps its speed.
  using DelayOf = std::function<Nanoseconds(const platform::OpLabel&)>;

  DelayDevice(std::unique_ptr<platform::Device> inner, DelayOf delay_of)
      : ForwardingDevice(std::move(inner)), delay_of_(std::move(delay_of)) {}

  void copy_to_device(platform::StreamKind stream, DeviceSpan destination, ConstByteSpan source,
                      const platform::OpLabel& label) override {
    hold_up(stream, label);
    inner().copy_to_device(stream, destination, source, label);
  }
  void launch(platform::StreamKind stream, platform::StreamTask task,
              const platform::OpLabel& label) override {
    hold_up(stream, label);
    inner().launch(stream, std::move(task), label);
  }
  void launch_host(platform::StreamKind stream, platform::StreamTask task,
                   const platform::OpLabel& label) override {
    hold_up(stream, label);
    inner().launch_host(stream, std::move(task), label);
  }

 private:
  void hold_up(platform::StreamKind stream, const platform::OpLabel& label) {
    const auto delay = delay_of_(label);
    if (delay > 0) {
      inner().launch_host(
          stream, [&clock = inner().clock(), delay] { clock.sleep(delay); }, label);
    }
  }

  DelayOf delay_of_;
};

// Around every rank: operations of `slow` take `delay` longer for one block in three.
[[nodiscard]] inline Decorate slow_for_a_third(platform::Site slow, std::int32_t third,
                                               Nanoseconds delay) {
  return [=](int, std::unique_ptr<platform::Device> device) {
    return std::make_unique<DelayDevice>(std::move(device), [=](const platform::OpLabel& label) {
      return label.site == slow && label.block % 3 == third ? delay : 0;
    });
  };
}

}  // namespace dlo::test
