// Owns: SimWorld, one simulated rank's view of the job, its control groups and communicators.
// Must not own: schedules or time. Mismatched order, size or membership of a collective is a
// violation the moment the last member arrives.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/sim/sim_fabric.h"

namespace dlo::comm {

// The World of `rank`. The fabric outlives it. Attach the rank's SimDevice to the fabric before
// the first collective.
[[nodiscard]] std::unique_ptr<World> make_sim_world(SimFabric& fabric, int rank);

}  // namespace dlo::comm
