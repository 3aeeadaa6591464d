#include "comm/mpi/mpi_error.h"

#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <string>

#include "base/codes.h"
#include "base/error.h"

namespace dlo::comm {

Refusal mpi_refusal(std::string_view call, int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return refuse(codes::kCollectiveFailed,
                fmt::format("{} failed: {}", call,
                            std::string_view(text.data(), static_cast<std::size_t>(length))),
                "MPI", "see the message of MPI and the first failing rank's log");
}

void check_mpi(std::string_view call, int code) {
  if (code != MPI_SUCCESS) {
    throw RunError(mpi_refusal(call, code));
  }
}

}  // namespace dlo::comm
