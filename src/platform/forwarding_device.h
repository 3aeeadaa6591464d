// Owns: ForwardingDevice, the base of every Device decorator (faults, counters, mutations): it
// owns the device below and passes every call on; a decorator overrides what it changes.
// Must not own: behaviour of its own. Threading and failure: those of the device below.
#pragma once

#include <memory>
#include <utility>

#include "platform/device.h"

namespace dlo::platform {

class ForwardingDevice : public Device {
 public:
  // Precondition: inner is not null.
  explicit ForwardingDevice(std::unique_ptr<Device> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] std::string_view kind() const override { return inner_->kind(); }
  [[nodiscard]] Clock& clock() override { return inner_->clock(); }

  [[nodiscard]] Result<std::unique_ptr<DeviceBuffer>> allocate_device(
      std::uint64_t bytes, MemoryPurpose purpose) override {
    return inner_->allocate_device(bytes, purpose);
  }
  [[nodiscard]] Result<std::unique_ptr<HostBuffer>> allocate_pinned(
      std::uint64_t bytes, MemoryPurpose purpose) override {
    return inner_->allocate_pinned(bytes, purpose);
  }
  [[nodiscard]] Result<std::unique_ptr<HostBuffer>> allocate_pageable(
      std::uint64_t bytes, MemoryPurpose purpose) override {
    return inner_->allocate_pageable(bytes, purpose);
  }
  [[nodiscard]] EventId create_event() override { return inner_->create_event(); }

  void record(EventId event, StreamKind stream, const OpLabel& label) override {
    inner_->record(event, stream, label);
  }
  void wait(StreamKind stream, EventId event, const OpLabel& label) override {
    inner_->wait(stream, event, label);
  }
  void copy_to_device(StreamKind stream, DeviceSpan destination, ConstByteSpan source,
                      const OpLabel& label) override {
    inner_->copy_to_device(stream, destination, source, label);
  }
  void copy_to_host(StreamKind stream, ByteSpan destination, DeviceSpan source,
                    const OpLabel& label) override {
    inner_->copy_to_host(stream, destination, source, label);
  }
  void launch(StreamKind stream, StreamTask task, const OpLabel& label) override {
    inner_->launch(stream, std::move(task), label);
  }

  void launch_host(StreamKind stream, StreamTask task, const OpLabel& label) override {
    inner_->launch_host(stream, std::move(task), label);
  }
  [[nodiscard]] NativeStream native_stream(StreamKind stream) const override {
    return inner_->native_stream(stream);
  }

  [[nodiscard]] TimeMarkId create_time_mark() override { return inner_->create_time_mark(); }
  void mark_time(TimeMarkId mark, StreamKind stream) override { inner_->mark_time(mark, stream); }
  [[nodiscard]] std::optional<Nanoseconds> elapsed(TimeMarkId from, TimeMarkId to) const override {
    return inner_->elapsed(from, to);
  }

  [[nodiscard]] bool query(EventId event) const override { return inner_->query(event); }
  [[nodiscard]] Status wait_host(EventId event, Deadline deadline, const OpLabel& label) override {
    return inner_->wait_host(event, deadline, label);
  }
  [[nodiscard]] Status synchronize(Deadline deadline) override {
    return inner_->synchronize(deadline);
  }
  [[nodiscard]] std::optional<Refusal> failure() const override { return inner_->failure(); }

  [[nodiscard]] MemoryUse device_memory() const override { return inner_->device_memory(); }
  [[nodiscard]] MemoryUse device_memory(MemoryPurpose purpose) const override {
    return inner_->device_memory(purpose);
  }
  [[nodiscard]] MemoryUse pinned_memory() const override { return inner_->pinned_memory(); }
  [[nodiscard]] MemoryUse pageable_memory() const override { return inner_->pageable_memory(); }

 protected:
  [[nodiscard]] Device& inner() { return *inner_; }

 private:
  std::unique_ptr<Device> inner_;
};

}  // namespace dlo::platform
