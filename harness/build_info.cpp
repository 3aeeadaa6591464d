#include "harness/build_info.h"

#include <fmt/format.h>

#include "base/sha256.h"

// Set by harness/CMakeLists.txt.
#ifndef DLO_VERSION
#error "harness/CMakeLists.txt defines DLO_VERSION and its like; one is missing"
#endif

namespace dlo::harness {

Json build_info() {
  return Json{{"version", DLO_VERSION},
              {"type", DLO_BUILD_TYPE},
              {"compiler", fmt::format("g++ {}", __VERSION__)},
              {"torch", DLO_TORCH_VERSION},
              {"mpi", DLO_MPI_VERSION},
              {"cuda", DLO_CUDA_IN_BUILD != 0},
              {"sanitizers", DLO_SANITIZERS}};
}

std::string build_digest() {
  return sha256_hex(fmt::format("{}\n{}", commit_text(), build_info().dump()));
}

std::string version_text() {
  return fmt::format(
      "dlo {}\n  commit      {}\n  build       {}, g++ {}\n  torch       {}{}\n"
      "  MPI         {}\n  CUDA        {}\n  sanitizers  {}",
      DLO_VERSION, commit_text(), DLO_BUILD_TYPE, __VERSION__, DLO_TORCH_VERSION,
      DLO_CUDA_IN_BUILD != 0 ? "" : " (CPU half)", DLO_MPI_VERSION,
      DLO_CUDA_IN_BUILD != 0 ? "in this build" : "not in this build", DLO_SANITIZERS);
}

}  // namespace dlo::harness
