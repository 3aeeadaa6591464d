// Goal: a build without CUDA: its rank platform is a refusal that says so, and it finds no
// accelerators.
#include <utility>

#include "base/codes.h"
#include "base/error.h"
#include "engine/accelerators.h"
#include "engine/rank_platform.h"

namespace dlo::engine {

namespace {

class AbsentRankPlatform : public RankPlatform {
 public:
  explicit AbsentRankPlatform(comm::World& world) : world_(world) {}

  [[nodiscard]] Status status() const override { return refusal(); }
  [[nodiscard]] comm::World& world() override { return world_; }
  [[nodiscard]] Result<std::unique_ptr<platform::Device>> make_device(
      FailureSignal& /*signal*/) override {
    return refusal();
  }
  [[nodiscard]] std::unique_ptr<comm::Communicator> reach(
      std::unique_ptr<comm::Communicator> communicator) override {
    return communicator;
  }

 private:
  [[nodiscard]] static Refusal refusal() {
    return refuse(codes::kAcceleratorMissing, "this build has no CUDA", "platform.device",
                  "build with cmake --preset cuda, or use platform.device cpu");
  }

  comm::World& world_;
};

}  // namespace

std::unique_ptr<RankPlatform> make_cuda_rank_platform(const PlatformSpec& /*spec*/,
                                                      comm::World& world,
                                                      platform::Clock& /*clock*/) {
  return std::make_unique<AbsentRankPlatform>(world);
}

Accelerators find_accelerators() {
  return {};
}

}  // namespace dlo::engine
