// Owns: LentTensors, host tensors that several backends read one after another: each sees them all,
// none frees them. Must not own: loading. Threading: launching thread.
// Failure: that of the tensors behind it. They outlive the loan.
#pragma once

#include "contracts/host_tensors.h"

namespace dlo::engine {

class LentTensors final : public contracts::HostTensors {
 public:
  explicit LentTensors(contracts::HostTensors& owner) : owner_(owner) {}

  [[nodiscard]] TensorView view(const std::string& name) const override {
    return owner_.view(name);
  }
  // Kept: the next backend wants it too.
  void release(const std::string& /*name*/) override {}
  [[nodiscard]] std::uint64_t held_bytes() const override { return owner_.held_bytes(); }

 private:
  contracts::HostTensors& owner_;
};

}  // namespace dlo::engine
