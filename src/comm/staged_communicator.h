// Owns: StagedCommunicator, a communicator for a device whose memory the ranks' exchange cannot
// reach: each gather goes device -> pinned host memory -> the host communicator -> device, in
// stream order. For more ranks than accelerators; made for reach, not for speed.
// Must not own: the exchange (the communicator below, whose gathers run as host tasks).
// Threading and failure: those of the communicator below. Staging memory is pinned when the inputs
// are shared, for the largest of them; afterwards nothing allocates.
#pragma once

#include <memory>

#include "comm/forwarding_communicator.h"

namespace dlo::comm {

class StagedCommunicator : public ForwardingCommunicator {
 public:
  // Precondition: inner is not null. Gathers are issued on one stream of one device, which outlives
  // the communicator.
  using ForwardingCommunicator::ForwardingCommunicator;

  // LogicError for an input that is larger than every shared one.
  void all_gather(platform::Device& device, platform::StreamKind stream, DeviceSpan input,
                  DeviceSpan output, const platform::OpLabel& label) override;
  // Codes: pin_failed.
  [[nodiscard]] Status share_inputs(platform::Device& device, const std::vector<DeviceSpan>& inputs,
                                    Deadline deadline) override;

 private:
  std::unique_ptr<platform::HostBuffer> input_;
  std::unique_ptr<platform::HostBuffer> output_;  // of all ranks
};

}  // namespace dlo::comm
