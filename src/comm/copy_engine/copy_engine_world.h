// Owns: CopyEngineWorld, a World whose communicators are copy engines' (copy_engine_communicator);
// everything else goes through the world below. All ranks of a communicator share a node.
// Must not own: the device. Threading: launching thread, with the device current.
#pragma once

#include "comm/forwarding_world.h"

namespace dlo::comm {

class CopyEngineWorld : public ForwardingWorld {
 public:
  using ForwardingWorld::ForwardingWorld;

  // Codes: cuda_failed and those of the exchange; all ranks get one answer. An operation has no
  // deadline of its own: `collective_timeout` is kept by the waits on the device.
  [[nodiscard]] Result<std::unique_ptr<Communicator>> make_communicator(
      const std::vector<int>& world_ranks, std::string_view purpose, Deadline deadline,
      Nanoseconds collective_timeout) override;
};

}  // namespace dlo::comm
