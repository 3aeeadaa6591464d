// Owns: PredictedRank, what one rank of a prediction does: enables the real backend on a simulated
// device, walks its forwards, notes when each ended.
// Must not own: the kernel, costs, or what the times mean (prediction.h).
// Threading: the rank's thread, under the kernel's baton. Failure: anything but success throws.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "comm/sim/sim_world.h"
#include "config/offload_config.h"
#include "platform/sim/sim_device.h"
#include "synthetic/synthetic_shape.h"

namespace dlo::engine {

// Equal on all ranks.
struct PredictedCase {
  config::OffloadConfig config;
  synthetic::SyntheticShape shape;  // the miniature
  std::uint32_t forwards = 1;       // warm-up included
};

// What one rank saw, by forward.
struct PredictedTimes {
  std::vector<Nanoseconds> end;      // its last block's compute is done
  std::vector<Nanoseconds> host_ns;  // the launching thread worked on it
};

class PredictedRank {
 public:
  // Everything passed outlives the rank. `trace` may be null.
  PredictedRank(platform::sim::SimKernel& kernel, comm::SimFabric& fabric,
                const PredictedCase& predicted, const platform::sim::CostModel& costs,
                std::vector<platform::sim::SimTraceRow>* trace, int rank);

  [[nodiscard]] PredictedTimes run();

 private:
  void make_group();
  // Every wait of a prediction ends by itself: no deadline of a real machine belongs here.
  [[nodiscard]] Deadline deadline() const;

  platform::sim::SimKernel& kernel_;
  comm::SimFabric& fabric_;
  const PredictedCase& predicted_;
  int rank_;
  std::unique_ptr<comm::World> world_;
  std::unique_ptr<platform::sim::SimDevice> device_;
  std::unique_ptr<comm::ControlGroup> control_;
  std::unique_ptr<comm::Communicator> communicator_;
};

}  // namespace dlo::engine
