// Owns: FaultingDevice, the decorator that lets seam calls of a device fail as a FaultPlan says.
// Must not own: the plan or its counters. An allocation or host wait returns the refusal; a stream
// operation is replaced by one that fails the device when the stream reaches it.
// Threading: launching thread. The injector outlives the device.
#pragma once

#include "platform/fault/fault_plan.h"
#include "platform/fault/jumping_clock.h"
#include "platform/forwarding_device.h"

namespace dlo::platform {

class FaultingDevice : public ForwardingDevice {
 public:
  FaultingDevice(std::unique_ptr<Device> inner, FaultInjector& injector)
      : ForwardingDevice(std::move(inner)),
        injector_(&injector),
        clock_(ForwardingDevice::clock(), injector) {}

  // Jumps ahead as the plan says.
  [[nodiscard]] Clock& clock() override { return clock_; }

  [[nodiscard]] Result<std::unique_ptr<DeviceBuffer>> allocate_device(
      std::uint64_t bytes, MemoryPurpose purpose) override;
  [[nodiscard]] Result<std::unique_ptr<HostBuffer>> allocate_pinned(std::uint64_t bytes,
                                                                    MemoryPurpose purpose) override;
  [[nodiscard]] Result<std::unique_ptr<HostBuffer>> allocate_pageable(
      std::uint64_t bytes, MemoryPurpose purpose) override;
  // Throws RunError when the plan says so.
  [[nodiscard]] EventId create_event() override;
  void record(EventId event, StreamKind stream, const OpLabel& label) override;
  void wait(StreamKind stream, EventId event, const OpLabel& label) override;
  void copy_to_device(StreamKind stream, DeviceSpan destination, ConstByteSpan source,
                      const OpLabel& label) override;
  void copy_to_host(StreamKind stream, ByteSpan destination, DeviceSpan source,
                    const OpLabel& label) override;
  void launch(StreamKind stream, StreamTask task, const OpLabel& label) override;
  void launch_host(StreamKind stream, StreamTask task, const OpLabel& label) override;
  [[nodiscard]] Status wait_host(EventId event, Deadline deadline, const OpLabel& label) override;
  [[nodiscard]] Status synchronize(Deadline deadline) override;

 private:
  // `deadline`, made by clock(), on the clock of the device below: what clock() has jumped ahead
  // since, a wait has lost.
  [[nodiscard]] Deadline below(Deadline deadline);
  // True when the call fails: the failing operation has been issued in its place.
  bool strikes(SeamCall call, StreamKind stream, const OpLabel& label);

  FaultInjector* injector_;
  JumpingClock clock_;
};

}  // namespace dlo::platform
