// Owns: the comparison of the size that MPI reports with what the launcher put into the
// environment: a process that believes to be alone in a job of several is an error (its library
// and the launcher do not belong together).
// Must not own: MPI calls. Threading: pure functions. Failure: Refusal topology_mismatch.
#pragma once

#include <functional>

#include "base/result.h"

namespace dlo::comm {

// Value of an environment variable, or null.
using EnvironmentLookup = std::function<const char*(const char* name)>;

// Compares with OMPI_COMM_WORLD_SIZE, PMI_SIZE and SLURM_NPROCS. Inside a Slurm allocation
// mpirun may start fewer processes than SLURM_NPROCS, so a larger world is only held against the
// variable of the launcher that made it.
[[nodiscard]] Status check_launch(int mpi_size, const EnvironmentLookup& lookup);

}  // namespace dlo::comm
