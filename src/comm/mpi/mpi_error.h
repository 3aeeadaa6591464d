// Owns: the translation of MPI's error codes into errors and refusals with MPI's own text.
// Must not own: policy. Threading: on the MPI thread.
// Failure: check_mpi throws RunError.
#pragma once

#include <string_view>

#include "base/refusal.h"

namespace dlo::comm {

// collective_failed: "MPI_Isend failed: <MPI's text>".
[[nodiscard]] Refusal mpi_refusal(std::string_view call, int code);
void check_mpi(std::string_view call, int code);

}  // namespace dlo::comm
