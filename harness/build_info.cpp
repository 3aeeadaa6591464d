#include "harness/build_info.h"

#include <fmt/format.h>

#include "base/sha256.h"

// Set by harness/CMakeLists.txt.
#ifndef DLO_VERSION
#error "DLO_VERSION, DLO_BUILD_TYPE, DLO_TORCH_VERSION, DLO_MPI_VERSION, DLO_SANITIZERS are missing"
#endif

namespace dlo::harness {

Json build_info() {
  return Json{{"version", DLO_VERSION},
              {"type", DLO_BUILD_TYPE},
              {"compiler", fmt::format("g++ {}", __VERSION__)},
              {"torch", DLO_TORCH_VERSION},
              {"mpi", DLO_MPI_VERSION},
              {"sanitizers", DLO_SANITIZERS}};
}

std::string build_digest() {
  return sha256_hex(fmt::format("{}\n{}", commit_text(), build_info().dump()));
}

std::string version_text() {
  return fmt::format(
      "dlo {}\n  commit      {}\n  build       {}, g++ {}\n  torch       {} (CPU half)\n"
      "  MPI         {}\n  CUDA        not in this build\n  sanitizers  {}",
      DLO_VERSION, commit_text(), DLO_BUILD_TYPE, __VERSION__, DLO_TORCH_VERSION, DLO_MPI_VERSION,
      DLO_SANITIZERS);
}

}  // namespace dlo::harness
