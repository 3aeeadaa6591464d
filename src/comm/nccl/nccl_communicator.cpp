#include "comm/nccl/nccl_communicator.h"

#include <utility>

#include "base/codes.h"
#include "base/error.h"
#include "comm/nccl/nccl_error.h"

namespace dlo::comm {

NcclCommunicator::NcclCommunicator(ncclComm_t comm, NcclMember member, const FailureSignal& signal)
    : comm_(comm), member_(std::move(member)), signal_(signal) {}

NcclCommunicator::~NcclCommunicator() {
  if (signal_.poll()) {
    abort();
  } else if (!std::exchange(aborted_, true)) {
    end_within_bound(comm_, &ncclCommDestroy);
  }
}

void NcclCommunicator::abort() noexcept {
  if (!std::exchange(aborted_, true)) {
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
  if (aborted_) {
    throw RunError(refuse(codes::kCollectiveFailed, "the communicator was aborted", member_.where,
                          "see the log of this rank"));
  }
  const auto status = ncclAllGather(input.data, output.data, input.bytes, ncclUint8, comm_, stream);
  if (status != ncclSuccess) {
    throw RunError(nccl_refusal(status, comm_, "an AllGather was not enqueued", member_.where));
  }
}

}  // namespace dlo::comm
