// Owns: ForwardingWorld, the base of every World decorator: it passes every call on to the world
// below; a decorator overrides what it changes.
// Must not own: the world below, behaviour. Threading and failure: those of the world below.
#pragma once

#include "comm/communicator.h"

namespace dlo::comm {

class ForwardingWorld : public World {
 public:
  // `inner` outlives the decorator.
  explicit ForwardingWorld(World& inner) : inner_(&inner) {}

  [[nodiscard]] std::string_view kind() const override { return inner_->kind(); }
  [[nodiscard]] int rank() const override { return inner_->rank(); }
  [[nodiscard]] int size() const override { return inner_->size(); }
  [[nodiscard]] NodePlace node_place() const override { return inner_->node_place(); }
  [[nodiscard]] ControlGroup& control() override { return inner_->control(); }
  [[nodiscard]] FailureSignal& failure_signal() override { return inner_->failure_signal(); }
  void reset_failures() override { inner_->reset_failures(); }
  void watch_failures_of(const std::vector<int>& world_ranks) override {
    inner_->watch_failures_of(world_ranks);
  }
  [[nodiscard]] Result<std::unique_ptr<ControlGroup>> make_control_group(
      const std::vector<int>& world_ranks, std::string_view purpose, Deadline deadline) override {
    return inner_->make_control_group(world_ranks, purpose, deadline);
  }
  [[nodiscard]] Result<std::unique_ptr<Communicator>> make_communicator(
      const std::vector<int>& world_ranks, std::string_view purpose, Deadline deadline,
      Nanoseconds collective_timeout) override {
    return inner_->make_communicator(world_ranks, purpose, deadline, collective_timeout);
  }

 protected:
  [[nodiscard]] World& inner() { return *inner_; }

 private:
  World* inner_;
};

}  // namespace dlo::comm
