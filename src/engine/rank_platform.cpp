#include "engine/rank_platform.h"

#include <utility>

#include "platform/cpu/cpu_device.h"

namespace dlo::engine {

namespace {

class CpuRankPlatform : public RankPlatform {
 public:
  CpuRankPlatform(const PlatformSpec& spec, comm::World& world, platform::Clock& clock)
      : spec_(spec), world_(world), clock_(clock) {}

  [[nodiscard]] Status status() const override { return {}; }
  [[nodiscard]] comm::World& world() override { return world_; }

  [[nodiscard]] Result<std::unique_ptr<platform::Device>> make_device(
      FailureSignal& signal) override {
    platform::CpuDeviceOptions options;
    options.rank = world_.rank();
    options.device_budget_bytes = spec_.device_budget_bytes.value_or(options.device_budget_bytes);
    options.pinned_budget_bytes = spec_.pinned_budget_bytes.value_or(options.pinned_budget_bytes);
    options.join_timeout =
        static_cast<Nanoseconds>(spec_.wait_timeout_s * static_cast<double>(kSecond));
    return platform::make_cpu_device(options, clock_, signal);
  }

  [[nodiscard]] std::unique_ptr<comm::Communicator> reach(
      std::unique_ptr<comm::Communicator> communicator) override {
    return communicator;
  }

 private:
  const PlatformSpec& spec_;
  comm::World& world_;
  platform::Clock& clock_;
};

}  // namespace

std::unique_ptr<RankPlatform> make_rank_platform(const PlatformSpec& spec, comm::World& world,
                                                 platform::Clock& clock) {
  if (spec.device == "cuda") {
    return make_cuda_rank_platform(spec, world, clock);
  }
  return std::make_unique<CpuRankPlatform>(spec, world, clock);
}

}  // namespace dlo::engine
