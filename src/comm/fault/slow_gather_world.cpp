#include "comm/fault/slow_gather_world.h"

#include <utility>

#include "comm/forwarding_communicator.h"
#include "comm/forwarding_world.h"
#include "platform/clock.h"

namespace dlo::comm {

namespace {

class SlowCommunicator : public ForwardingCommunicator {
 public:
  SlowCommunicator(std::unique_ptr<Communicator> inner, Nanoseconds delay)
      : ForwardingCommunicator(std::move(inner)), delay_(delay) {}

  void all_gather(platform::Device& device, platform::StreamKind stream, DeviceSpan input,
                  DeviceSpan output, const platform::OpLabel& label) override {
    platform::Clock& time = device.clock();
    device.launch_host(
        stream, [&time, delay = delay_] { time.sleep(delay); }, label);
    inner().all_gather(device, stream, input, output, label);
  }

 private:
  Nanoseconds delay_;
};

class SlowGatherWorld : public ForwardingWorld {
 public:
  SlowGatherWorld(World& inner, Nanoseconds delay) : ForwardingWorld(inner), delay_(delay) {}

  [[nodiscard]] Result<std::unique_ptr<Communicator>> make_communicator(
      const std::vector<int>& world_ranks, std::string_view purpose, Deadline deadline,
      Nanoseconds collective_timeout) override {
    auto made =
        ForwardingWorld::make_communicator(world_ranks, purpose, deadline, collective_timeout);
    if (!made.ok()) {
      return made.refusal();
    }
    return std::unique_ptr<Communicator>(
        std::make_unique<SlowCommunicator>(std::move(made).value(), delay_));
  }

 private:
  Nanoseconds delay_;
};

}  // namespace

std::unique_ptr<World> make_slow_gather_world(World& inner, Nanoseconds delay) {
  return std::make_unique<SlowGatherWorld>(inner, delay);
}

}  // namespace dlo::comm
