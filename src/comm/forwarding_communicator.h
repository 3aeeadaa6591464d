// Owns: ForwardingCommunicator, the base of every Communicator decorator: it owns the communicator
// below and passes every call on; a decorator overrides what it changes.
// Must not own: behaviour. Threading and failure: those of the communicator below.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "comm/communicator.h"

namespace dlo::comm {

class ForwardingCommunicator : public Communicator {
 public:
  // Precondition: inner is not null.
  explicit ForwardingCommunicator(std::unique_ptr<Communicator> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] int rank() const override { return inner_->rank(); }
  [[nodiscard]] int size() const override { return inner_->size(); }
  void all_gather(platform::Device& device, platform::StreamKind stream, DeviceSpan input,
                  DeviceSpan output, const platform::OpLabel& label) override {
    inner_->all_gather(device, stream, input, output, label);
  }
  [[nodiscard]] Status share_inputs(platform::Device& device, const std::vector<DeviceSpan>& inputs,
                                    Deadline deadline) override {
    return inner_->share_inputs(device, inputs, deadline);
  }
  [[nodiscard]] Status prepare_gathers(const std::vector<PieceGather>& gathers) override {
    return inner_->prepare_gathers(gathers);
  }
  void forget_inputs(const std::vector<DeviceSpan>& inputs, Deadline deadline) noexcept override {
    inner_->forget_inputs(inputs, deadline);
  }
  void abort() noexcept override { inner_->abort(); }

 protected:
  [[nodiscard]] Communicator& inner() { return *inner_; }

 private:
  std::unique_ptr<Communicator> inner_;
};

}  // namespace dlo::comm
