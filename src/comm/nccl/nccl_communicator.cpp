#include "comm/nccl/nccl_communicator.h"

#include <utility>

#include "base/codes.h"
#include "base/error.h"
#include "comm/nccl/nccl_error.h"

namespace dlo::comm {

namespace {

// An AllGather is enqueued within milliseconds. One that takes this long is held up behind a kernel
// that waits for the dead peer, and nothing but the abort ends that kernel.
constexpr Nanoseconds kHeldUp = 2 * kSecond;

}  // namespace

NcclCommunicator::NcclCommunicator(ncclComm_t comm, NcclMember member, const FailureSignal& signal,
                                   platform::Clock& clock)
    : comm_(comm), member_(std::move(member)), signal_(signal), ended_(clock, kHeldUp) {
  watch_.emplace(signal_, [this] {
    static_cast<void>(ended_.try_end([this] { end_within_bound(comm_, &ncclCommAbort); }));
  });
}

NcclCommunicator::~NcclCommunicator() {
  watch_.reset();  // waits for an abort of its own no longer than that is bounded
  if (signal_.poll()) {
    abort();
  } else {
    ended_.end([this] { end_within_bound(comm_, &ncclCommDestroy); });
  }
}

void NcclCommunicator::abort() noexcept {
  ended_.end([this] { end_within_bound(comm_, &ncclCommAbort); });
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
  std::optional<Refusal> refused;
  const bool whole = ended_.use([&] {
    const auto status =
        ncclAllGather(input.data, output.data, input.bytes, ncclUint8, comm_, stream);
    if (status != ncclSuccess && !ended_.ended()) {
      // Without the handle, which an abort may free meanwhile.
      refused = nccl_refusal(status, nullptr, "an AllGather was not enqueued", member_.where);
    }
  });
  if (!whole) {
    throw RunError(refuse(codes::kCollectiveFailed, "the communicator was aborted", member_.where,
                          "see the log of this rank"));
  }
  if (refused) {
    throw RunError(*refused);
  }
}

}  // namespace dlo::comm
