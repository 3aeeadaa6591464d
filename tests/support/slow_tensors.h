// Owns: SlowTensors, host tensors of which each look takes a time of the device's clock, as from a
// slow disk. Must not own: the tensors, the clock. Threading and failure: those of the tensors.
#pragma once

#include <string>

#include "contracts/host_tensors.h"
#include "platform/clock.h"

namespace dlo::test {

class SlowTensors final : public contracts::HostTensors {
 public:
  SlowTensors(contracts::HostTensors& inner, platform::Clock& clock, Nanoseconds time)
      : inner_(inner), clock_(clock), time_(time) {}
  [[nodiscard]] TensorView view(const std::string& name) const override {
    clock_.sleep(time_);
    return inner_.view(name);
  }
  void release(const std::string& name) override { inner_.release(name); }
  [[nodiscard]] std::uint64_t held_bytes() const override { return inner_.held_bytes(); }

 private:
  contracts::HostTensors& inner_;
  platform::Clock& clock_;
  Nanoseconds time_;
};

}  // namespace dlo::test
