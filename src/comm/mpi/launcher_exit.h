// Owns: how a rank that must not call MPI_Finalize still takes leave of its launcher. Open MPI's
// mpirun counts a process that ends without either as failed, whatever its exit code.
// Must not own: when that is in order (mpi_world.h): only after all ranks have agreed on their end.
// Threading: the MPI thread. Failure: none; where the library that speaks to the launcher is not
// PMIx nothing happens, and the launcher keeps its opinion.
#pragma once

namespace dlo::comm {

// PMIx_Finalize() of the library that MPI has loaded. No collective, no MPI call.
void take_leave_of_launcher() noexcept;

}  // namespace dlo::comm
