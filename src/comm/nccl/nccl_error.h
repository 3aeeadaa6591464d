// Owns: what an NCCL status becomes: a refusal with number, name and NCCL's own last words; and the
// end of a communicator that may be stuck.
// Must not own: recovery. Plain functions, any thread.
#pragma once

#include <nccl.h>

#include <string_view>

#include "base/refusal.h"

namespace dlo::comm {

// nccl_failed. `comm` may be null; it is asked for its last error. `where` names rank and
// operation.
[[nodiscard]] Refusal nccl_refusal(ncclResult_t status, ncclComm_t comm, std::string_view what,
                                   std::string_view where);

// Runs `end` (ncclCommDestroy, ncclCommAbort) on a thread of its own and leaves it there when it
// does not come back within seconds: a peer that is gone can hold NCCL's own teardown for ever.
void end_within_bound(ncclComm_t comm, ncclResult_t (*end)(ncclComm_t)) noexcept;

// "ncclSystemError".
[[nodiscard]] std::string_view nccl_status_name(ncclResult_t status);

}  // namespace dlo::comm
