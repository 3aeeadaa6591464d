#include "comm/nccl/nccl_communicator.h"

#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "base/codes.h"
#include "base/error.h"
#include "comm/nccl/nccl_error.h"

namespace dlo::comm {

namespace {

constexpr std::chrono::seconds kEndTimeout{10};

// Runs `end` on a thread of its own and leaves it there when it does not come back: a peer that is
// gone can hold NCCL's own teardown for ever.
void end_within_bound(ncclComm_t comm, ncclResult_t (*end)(ncclComm_t)) noexcept {
  try {
    auto ended = std::make_shared<std::promise<void>>();
    auto done = ended->get_future();
    std::thread([comm, end, ended] {
      static_cast<void>(end(comm));
      ended->set_value();
    }).detach();
    static_cast<void>(done.wait_for(kEndTimeout));
  } catch (const std::exception&) {
    // No thread to be had: the process is ending, and the communicator with it.
  }
}

}  // namespace

NcclCommunicator::NcclCommunicator(ncclComm_t comm, NcclMember member, const FailureSignal& signal)
    : comm_(comm), member_(std::move(member)), signal_(signal) {}

NcclCommunicator::~NcclCommunicator() {
  if (signal_.poll()) {
    abort();
  } else if (!aborted_.exchange(true)) {
    end_within_bound(comm_, &ncclCommDestroy);
  }
}

void NcclCommunicator::abort() noexcept {
  if (!aborted_.exchange(true)) {
    end_within_bound(comm_, &ncclCommAbort);
  }
}

void NcclCommunicator::all_gather(platform::Device& device, platform::StreamKind stream,
                                  DeviceSpan input, DeviceSpan output,
                                  const platform::OpLabel& label) {
  require(output.bytes == static_cast<std::uint64_t>(member_.size) * input.bytes,
          "all_gather: the output must hold exactly one input a rank");
  const auto native = device.native_stream(stream);
  require(native.present(), "NCCL gathers device memory of the CUDA platform");
  device.launch(
      stream,
      [this, handle = static_cast<cudaStream_t>(native.handle), input, output] {
        gather_now(handle, input, output);
      },
      label);
}

void NcclCommunicator::gather_now(cudaStream_t stream, DeviceSpan input, DeviceSpan output) {
  if (aborted_.load()) {
    throw RunError(refuse(codes::kCollectiveFailed, "the communicator was aborted", member_.where,
                          "see the log of this rank"));
  }
  const auto status = ncclAllGather(input.data, output.data, input.bytes, ncclUint8, comm_, stream);
  if (status != ncclSuccess) {
    throw RunError(nccl_refusal(status, comm_, "an AllGather was not enqueued", member_.where));
  }
}

}  // namespace dlo::comm
