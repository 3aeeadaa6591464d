// Owns: the start of one NCCL communicator: initialisation and a first collective on a helper
// thread under a deadline, because either may wait for ever for a peer that never comes.
// Must not own: the communicator's later life (nccl_communicator).
// Blocking communicators: a non-blocking one returns before its kernel is on the stream, so an
// event that is recorded next would lie.
#pragma once

#include <nccl.h>

#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/failure_signal.h"
#include "base/result.h"
#include "platform/clock.h"

namespace dlo::comm {

// How many SMs a collective takes, and how they must be placed. What a gather takes is missing to
// the compute beside it, from its start until the slowest peer has joined.
struct NcclShape {
  int max_ctas = 0;       // thread blocks at most; 0: NCCL's own choice
  int cluster_size = -1;  // thread blocks that must start together; -1: NCCL's own choice
};

struct NcclStartRequest {
  ncclUniqueId id{};
  int rank = 0;  // inside the group
  int size = 1;
  int ordinal = 0;  // CUDA device of this rank
  NcclShape shape;
  std::string where;  // "weights on rank 3", for messages
};

// Bytes of an id as text, for the exchange through a control group.
[[nodiscard]] std::string nccl_id_text(const ncclUniqueId& id);
[[nodiscard]] ncclUniqueId nccl_id_from_text(const std::string& text);

// Codes: nccl_failed, cuda_failed, deadline_exceeded, or a peer's standing failure. Past the
// deadline a first collective is aborted; an initialisation, which NCCL knows no way to end, is
// left to its helper thread.
[[nodiscard]] Result<ncclComm_t> start_nccl(const NcclStartRequest& request, platform::Clock& clock,
                                            const FailureSignal& signal, Deadline deadline);

}  // namespace dlo::comm
