// Owns: the decorators over Device and Communicator that tell a BlockTiming what passes the seams:
// H2D copies, packings, ready waits, computes of blocks and of the model's edges, gathers.
// Must not own: what is made of it (block_timing.h). Off, each costs one branch and issues no mark.
// Threading and failure: those of what they decorate. The BlockTiming outlives them.
#pragma once

#include <memory>
#include <utility>

#include "comm/forwarding_communicator.h"
#include "platform/forwarding_device.h"
#include "telemetry/block_timing.h"

namespace dlo::telemetry {

class TimingDevice : public platform::ForwardingDevice {
 public:
  TimingDevice(std::unique_ptr<platform::Device> inner_device, BlockTiming& timing)
      : ForwardingDevice(std::move(inner_device)), timing_(&timing) {
    timing.attach(inner());
  }

  void wait(platform::StreamKind stream, platform::EventId event,
            const platform::OpLabel& label) override;
  void copy_to_device(platform::StreamKind stream, DeviceSpan destination, ConstByteSpan source,
                      const platform::OpLabel& label) override;
  void launch(platform::StreamKind stream, platform::StreamTask task,
              const platform::OpLabel& label) override;
  void launch_host(platform::StreamKind stream, platform::StreamTask task,
                   const platform::OpLabel& label) override;

 private:
  BlockTiming* timing_;
};

class TimingCommunicator : public comm::ForwardingCommunicator {
 public:
  // Precondition: inner is not null.
  TimingCommunicator(std::unique_ptr<comm::Communicator> inner, BlockTiming& timing)
      : ForwardingCommunicator(std::move(inner)), timing_(&timing) {}

  void all_gather(platform::Device& device, platform::StreamKind stream, DeviceSpan input,
                  DeviceSpan output, const platform::OpLabel& label) override;

 private:
  BlockTiming* timing_;
};

}  // namespace dlo::telemetry
