#include "platform/fault/faulting_device.h"

#include <memory>

namespace dlo::platform {

Result<std::unique_ptr<DeviceBuffer>> FaultingDevice::allocate_device(std::uint64_t bytes,
                                                                      MemoryPurpose purpose) {
  if (auto refusal = injector_->strike(SeamCall::kAllocateDevice, memory_purpose_name(purpose))) {
    return *std::move(refusal);
  }
  return ForwardingDevice::allocate_device(bytes, purpose);
}

Result<std::unique_ptr<HostBuffer>> FaultingDevice::allocate_pinned(std::uint64_t bytes,
                                                                    MemoryPurpose purpose) {
  if (auto refusal = injector_->strike(SeamCall::kAllocatePinned, memory_purpose_name(purpose))) {
    return *std::move(refusal);
  }
  return ForwardingDevice::allocate_pinned(bytes, purpose);
}

Result<std::unique_ptr<HostBuffer>> FaultingDevice::allocate_pageable(std::uint64_t bytes,
                                                                      MemoryPurpose purpose) {
  if (auto refusal = injector_->strike(SeamCall::kAllocatePageable, memory_purpose_name(purpose))) {
    return *std::move(refusal);
  }
  return ForwardingDevice::allocate_pageable(bytes, purpose);
}

EventId FaultingDevice::create_event() {
  if (auto refusal = injector_->strike(SeamCall::kCreateEvent, "event")) {
    throw RunError(*std::move(refusal));
  }
  return ForwardingDevice::create_event();
}

void FaultingDevice::record(EventId event, StreamKind stream, const OpLabel& label) {
  // Recorded all the same, behind the failure: who waits for the event must not run ahead of it.
  static_cast<void>(strikes(SeamCall::kRecord, stream, label));
  ForwardingDevice::record(event, stream, label);
}

void FaultingDevice::wait(StreamKind stream, EventId event, const OpLabel& label) {
  static_cast<void>(strikes(SeamCall::kWait, stream, label));
  ForwardingDevice::wait(stream, event, label);
}

void FaultingDevice::copy_to_device(StreamKind stream, DeviceSpan destination, ConstByteSpan source,
                                    const OpLabel& label) {
  if (!strikes(SeamCall::kCopyToDevice, stream, label)) {
    ForwardingDevice::copy_to_device(stream, destination, source, label);
  }
}

void FaultingDevice::copy_to_host(StreamKind stream, ByteSpan destination, DeviceSpan source,
                                  const OpLabel& label) {
  if (!strikes(SeamCall::kCopyToHost, stream, label)) {
    ForwardingDevice::copy_to_host(stream, destination, source, label);
  }
}

void FaultingDevice::launch(StreamKind stream, StreamTask task, const OpLabel& label) {
  if (!strikes(SeamCall::kLaunch, stream, label)) {
    ForwardingDevice::launch(stream, std::move(task), label);
  }
}

void FaultingDevice::launch_host(StreamKind stream, StreamTask task, const OpLabel& label) {
  if (!strikes(SeamCall::kLaunch, stream, label)) {
    ForwardingDevice::launch_host(stream, std::move(task), label);
  }
}

Status FaultingDevice::wait_host(EventId event, Deadline deadline, const OpLabel& label) {
  if (auto refusal =
          injector_->strike(SeamCall::kWaitHost, site_name(label.site), label_text(label))) {
    return *std::move(refusal);
  }
  return ForwardingDevice::wait_host(event, below(deadline), label);
}

Status FaultingDevice::synchronize(Deadline deadline) {
  if (auto refusal = injector_->strike(SeamCall::kSynchronize, "all streams")) {
    return *std::move(refusal);
  }
  return ForwardingDevice::synchronize(below(deadline));
}

Deadline FaultingDevice::below(Deadline deadline) {
  static_cast<void>(clock_.now());  // a wait looks at the clock, which may jump then
  return deadline.at == Deadline{}.at ? deadline : Deadline::after(deadline.at, -clock_.ahead());
}

bool FaultingDevice::strikes(SeamCall call, StreamKind stream, const OpLabel& label) {
  auto refusal = injector_->strike(call, site_name(label.site), label_text(label));
  if (!refusal) {
    return false;
  }
  // Shared, because a task's captures must not throw when they move.
  const auto shared = std::make_shared<const Refusal>(*std::move(refusal));
  ForwardingDevice::launch(
      stream, [shared] { throw RunError(*shared); }, label);
  return true;
}

}  // namespace dlo::platform
