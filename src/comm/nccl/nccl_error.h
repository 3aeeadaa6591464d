// Owns: what an NCCL status becomes: a refusal with number, name and NCCL's own last words.
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

// "ncclSystemError".
[[nodiscard]] std::string_view nccl_status_name(ncclResult_t status);

}  // namespace dlo::comm
