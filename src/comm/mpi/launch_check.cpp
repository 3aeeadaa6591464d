#include "comm/mpi/launch_check.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <string_view>

#include "base/codes.h"

namespace dlo::comm {

namespace {

constexpr const char* kOpenMpiSize = "OMPI_COMM_WORLD_SIZE";
constexpr std::array kSizeVariables{kOpenMpiSize, "PMI_SIZE", "SLURM_NPROCS"};

long value_of(const char* text) {
  return text == nullptr ? 0 : std::strtol(text, nullptr, 10);
}

}  // namespace

Status check_launch(int mpi_size, const EnvironmentLookup& lookup) {
  for (const char* name : kSizeVariables) {
    const long wanted = value_of(lookup(name));
    const bool alone = mpi_size == 1 && wanted > 1;
    const bool differs = std::string_view(name) == kOpenMpiSize && wanted > 0 && wanted != mpi_size;
    if (alone || differs) {
      return refuse(codes::kTopologyMismatch,
                    fmt::format("MPI reports {} rank{}, but {} is {}", mpi_size,
                                mpi_size == 1 ? "" : "s", name, wanted),
                    "launch", "start dlo with the mpirun of the MPI library it was built with");
    }
  }
  return {};
}

}  // namespace dlo::comm
