#include "comm/nccl/nccl_error.h"

#include <fmt/format.h>

#include <array>

#include "base/codes.h"

namespace dlo::comm {

namespace {

constexpr std::array<std::string_view, 8> kNames = {
    "ncclSuccess",         "ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError",
    "ncclInvalidArgument", "ncclInvalidUsage",       "ncclRemoteError", "ncclInProgress"};

}  // namespace

std::string_view nccl_status_name(ncclResult_t status) {
  const auto number = static_cast<std::size_t>(status);
  return number < kNames.size() ? kNames[number] : "an unknown NCCL status";
}

Refusal nccl_refusal(ncclResult_t status, ncclComm_t comm, std::string_view what,
                     std::string_view where) {
  const char* const detail = ncclGetLastError(comm);
  return refuse(
      codes::kNcclFailed,
      fmt::format("{}: {} ({}): {}{}{}", what, nccl_status_name(status), static_cast<int>(status),
                  ncclGetErrorString(status), detail != nullptr && *detail != '\0' ? "; " : "",
                  detail != nullptr ? detail : ""),
      std::string(where), "run again with NCCL_DEBUG=WARN for NCCL's own account");
}

}  // namespace dlo::comm
