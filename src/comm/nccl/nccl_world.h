// Owns: NcclWorld, a World whose communicators are NCCL's; everything else, the bootstrap too, goes
// through the world below (MPI).
// Must not own: the device, streams, control groups. Threading: launching thread.
// One launching thread a device issues all collectives in the same order on all ranks. Kernels of
// several communicators are resident together where NcclShape bounds their CTAs (a scenario's
// platform.nccl_max_ctas); by default NCCL chooses, and nothing here says that they fit.
#pragma once

#include "comm/forwarding_world.h"
#include "comm/nccl/nccl_start.h"
#include "platform/clock.h"

namespace dlo::comm {

struct NcclOptions {
  int ordinal = 0;  // CUDA device of this rank; no two ranks of a group share one
  NcclShape shape;
};

class NcclWorld : public ForwardingWorld {
 public:
  // `inner` and `clock` outlive the world.
  NcclWorld(World& inner, const NcclOptions& options, platform::Clock& clock)
      : ForwardingWorld(inner), options_(options), clock_(clock) {}

  // Codes: nccl_failed, cuda_failed, deadline_exceeded, a peer's. All ranks get one answer.
  // NCCL knows no deadline of an operation: `collective_timeout` is kept by the waits on the
  // device.
  [[nodiscard]] Result<std::unique_ptr<Communicator>> make_communicator(
      const std::vector<int>& world_ranks, std::string_view purpose, Deadline deadline,
      Nanoseconds collective_timeout) override;

 private:
  NcclOptions options_;
  platform::Clock& clock_;
};

// "NCCL 2.28.9".
[[nodiscard]] std::string nccl_version_text();

}  // namespace dlo::comm
