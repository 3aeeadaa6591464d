// Owns: RankPlatform, what hangs on the platform that a run asks for: this rank's accelerator, its
// device, and the world whose communicators reach that device's memory.
// Must not own: faults and ledgers around them (worker), torch's settings (model/torch_session).
// Threading: launching thread. Failure: a platform that the machine or the build lacks is a refusal
// of status(): accelerator_missing.
#pragma once

#include <memory>
#include <string_view>

#include "comm/communicator.h"
#include "engine/device_counters.h"
#include "engine/run_report.h"
#include "platform/clock.h"
#include "platform/device.h"

namespace dlo::engine {

// Who gathers where NCCL was wanted and ranks share an accelerator.
inline constexpr std::string_view kGatherThroughHost = "host_memory";

class RankPlatform {
 public:
  virtual ~RankPlatform() = default;

  // Whether a device can be made here.
  [[nodiscard]] virtual Status status() const = 0;
  // Its communicators gather this platform's device memory, once through reach().
  [[nodiscard]] virtual comm::World& world() = 0;
  // Precondition: status() is ok.
  [[nodiscard]] virtual Result<std::unique_ptr<platform::Device>> make_device(
      FailureSignal& signal) = 0;
  // Of this rank's accelerator; empty where there is none. Takes up to milliseconds.
  [[nodiscard]] virtual DeviceCounters counters() const { return {}; }
  // Who gathers: "nccl", "copy_engine", kGatherThroughHost; empty where there is none.
  [[nodiscard]] virtual std::string_view gather() const { return ""; }
  // `communicator` of world() as the device can use it.
  [[nodiscard]] virtual std::unique_ptr<comm::Communicator> reach(
      std::unique_ptr<comm::Communicator> communicator) = 0;
};

// By `spec.device`: "cpu" or "cuda" (the harness refuses other names). Everything passed outlives
// the platform.
[[nodiscard]] std::unique_ptr<RankPlatform> make_rank_platform(const PlatformSpec& spec,
                                                               comm::World& world,
                                                               platform::Clock& clock);

// The part that needs CUDA; in a build without it, a platform whose status() says so.
[[nodiscard]] std::unique_ptr<RankPlatform> make_cuda_rank_platform(const PlatformSpec& spec,
                                                                    comm::World& world,
                                                                    platform::Clock& clock);

}  // namespace dlo::engine
