#include "comm/fault/faulting_world.h"

#include <utility>

#include "comm/forwarding_communicator.h"
#include "comm/forwarding_world.h"

namespace dlo::comm {

namespace {

using platform::FaultInjector;
using platform::SeamCall;

class FaultingControlGroup : public ControlGroup {
 public:
  FaultingControlGroup(std::unique_ptr<ControlGroup> inner, FaultInjector& injector)
      : inner_(std::move(inner)), injector_(&injector) {}

  [[nodiscard]] int rank() const override { return inner_->rank(); }
  [[nodiscard]] int size() const override { return inner_->size(); }
  [[nodiscard]] Result<std::vector<std::string>> exchange(std::string_view operation,
                                                          std::string_view mine,
                                                          Deadline deadline) override {
    if (auto refusal = injector_->strike(SeamCall::kExchange, operation)) {
      return *std::move(refusal);
    }
    return inner_->exchange(operation, mine, deadline);
  }

 private:
  std::unique_ptr<ControlGroup> inner_;
  FaultInjector* injector_;
};

class FaultingCommunicator : public ForwardingCommunicator {
 public:
  FaultingCommunicator(std::unique_ptr<Communicator> inner, FaultInjector& injector)
      : ForwardingCommunicator(std::move(inner)), injector_(&injector) {}

  void all_gather(platform::Device& device, platform::StreamKind stream, DeviceSpan input,
                  DeviceSpan output, const platform::OpLabel& label) override {
    if (auto refusal =
            injector_->strike(SeamCall::kGather, site_name(label.site), label_text(label))) {
      const auto shared = std::make_shared<const Refusal>(*std::move(refusal));
      device.launch(
          stream, [shared] { throw RunError(*shared); }, label);
      return;
    }
    inner().all_gather(device, stream, input, output, label);
  }

 private:
  FaultInjector* injector_;
};

class FaultingWorld : public ForwardingWorld {
 public:
  FaultingWorld(World& inner, FaultInjector& injector)
      : ForwardingWorld(inner), injector_(&injector) {}

  [[nodiscard]] Result<std::unique_ptr<ControlGroup>> make_control_group(
      const std::vector<int>& ranks, std::string_view purpose, Deadline deadline) override {
    if (auto refusal = injector_->strike(SeamCall::kMakeControlGroup, purpose)) {
      return *std::move(refusal);
    }
    auto made = inner().make_control_group(ranks, purpose, deadline);
    if (!made.ok()) {
      return made.refusal();
    }
    return std::unique_ptr<ControlGroup>(
        std::make_unique<FaultingControlGroup>(std::move(made).value(), *injector_));
  }

  [[nodiscard]] Result<std::unique_ptr<Communicator>> make_communicator(
      const std::vector<int>& ranks, std::string_view purpose, Deadline deadline,
      Nanoseconds collective_timeout) override {
    if (auto refusal = injector_->strike(SeamCall::kMakeCommunicator, purpose)) {
      return *std::move(refusal);
    }
    auto made = inner().make_communicator(ranks, purpose, deadline, collective_timeout);
    if (!made.ok()) {
      return made.refusal();
    }
    return std::unique_ptr<Communicator>(
        std::make_unique<FaultingCommunicator>(std::move(made).value(), *injector_));
  }

 private:
  FaultInjector* injector_;
};

}  // namespace

std::unique_ptr<World> make_faulting_world(World& inner, FaultInjector& injector) {
  return std::make_unique<FaultingWorld>(inner, injector);
}

}  // namespace dlo::comm
