// Owns: StagedCommunicator, a communicator for a device whose memory the ranks' exchange cannot
// reach: each gather goes device -> pinned host memory -> the host communicator -> device, in
// stream order. For more ranks than accelerators; made for reach, not for speed.
// Must not own: the exchange (the communicator below, whose gathers run as host tasks).
// Threading and failure: those of the communicator below. Staging memory grows at the first gather
// of a larger size and allocates then; refused memory fails the device.
#pragma once

#include <memory>

#include "comm/forwarding_communicator.h"

namespace dlo::comm {

class StagedCommunicator : public ForwardingCommunicator {
 public:
  // Precondition: inner is not null. Gathers are issued on one stream of one device, which outlives
  // the communicator.
  using ForwardingCommunicator::ForwardingCommunicator;

  void all_gather(platform::Device& device, platform::StreamKind stream, DeviceSpan input,
                  DeviceSpan output, const platform::OpLabel& label) override;

 private:
  // Room for `input_bytes` and for all ranks' together.
  [[nodiscard]] Status reserve(platform::Device& device, std::uint64_t input_bytes);

  std::unique_ptr<platform::HostBuffer> input_;
  std::unique_ptr<platform::HostBuffer> output_;
  // Outgrown buffers that enqueued operations may still use.
  std::vector<std::unique_ptr<platform::HostBuffer>> outgrown_;
};

}  // namespace dlo::comm
