#include "comm/nccl/nccl_error.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "base/codes.h"
#include "platform/posix/thread_name.h"

namespace dlo::comm {

namespace {

constexpr std::chrono::seconds kEndTimeout{10};

constexpr std::array<std::string_view, 8> kNames = {
    "ncclSuccess",         "ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError",
    "ncclInvalidArgument", "ncclInvalidUsage",       "ncclRemoteError", "ncclInProgress"};

}  // namespace

void end_within_bound(ncclComm_t comm, ncclResult_t (*end)(ncclComm_t)) noexcept {
  try {
    auto ended = std::make_shared<std::promise<void>>();
    auto done = ended->get_future();
    std::thread([comm, end, ended] {
      platform::name_this_thread("dlo-nccl-end");
      static_cast<void>(end(comm));
      ended->set_value();
    }).detach();
    static_cast<void>(done.wait_for(kEndTimeout));
  } catch (const std::exception&) {
    // No thread to be had: the process is ending, and the communicator with it.
  }
}

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
