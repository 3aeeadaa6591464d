// Owns: NcclCommunicator, one NCCL communicator of one purpose.
// Must not own: groups, bootstrap (nccl_world), streams: a gather is enqueued on the platform's.
// Threading: launching thread.
// Failure: as comm/communicator.h. NCCL notices neither a dead nor a missing peer by itself: host
// waits on the device do, by deadline or by the failure signal; after that the communicator is
// aborted, which ends its kernels. The launching thread may itself be held up in a driver's call
// behind such a kernel (a module that is loaded lazily, a launch queue that is full): a thread of
// the communicator's own aborts as soon as the failure signal stands.
#pragma once

#include <nccl.h>

#include <optional>
#include <string>

#include "comm/communicator.h"
#include "comm/end_once.h"
#include "comm/release_watch.h"
#include "platform/clock.h"

namespace dlo::comm {

struct NcclMember {
  int rank = 0;  // inside the group
  int size = 1;
  std::string where;  // "weights on rank 3", for messages
};

class NcclCommunicator : public Communicator {
 public:
  // Takes `comm`. `signal` and `clock` outlive the communicator.
  NcclCommunicator(ncclComm_t comm, NcclMember member, const FailureSignal& signal,
                   platform::Clock& clock);
  // Destroys the communicator, or aborts it when a failure stands. Never blocks for ever: past a
  // bound it leaves the communicator to itself.
  ~NcclCommunicator() override;
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  [[nodiscard]] int rank() const override { return member_.rank; }
  [[nodiscard]] int size() const override { return member_.size; }
  void all_gather(platform::Device& device, platform::StreamKind stream, DeviceSpan input,
                  DeviceSpan output, const platform::OpLabel& label) override;
  void abort() noexcept override;

 private:
  void gather_now(cudaStream_t stream, DeviceSpan input, DeviceSpan output);

  ncclComm_t comm_;
  NcclMember member_;
  const FailureSignal& signal_;
  EndOnce ended_;
  std::optional<ReleaseWatch> watch_;  // last: it uses all of the above
};

}  // namespace dlo::comm
