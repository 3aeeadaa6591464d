#include "comm/copy_engine/copy_engine_world.h"

#include <fmt/format.h>

#include <utility>

#include "comm/copy_engine/copy_engine_communicator.h"

namespace dlo::comm {

Result<std::unique_ptr<Communicator>> CopyEngineWorld::make_communicator(
    const std::vector<int>& world_ranks, std::string_view purpose, Deadline deadline,
    Nanoseconds /*collective_timeout*/) {
  auto group =
      inner().make_control_group(world_ranks, fmt::format("{} (copy engines)", purpose), deadline);
  if (!group.ok()) {
    return group.refusal();
  }
  return CopyEngineCommunicator::make(std::move(group).value(),
                                      fmt::format("{} on rank {}", purpose, rank()),
                                      failure_signal(), deadline);
}

}  // namespace dlo::comm
