#include "platform/cpu/cpu_device.h"

#include <array>
#include <atomic>
#include <utility>

#include "base/error.h"
#include "platform/cpu/cpu_memory.h"
#include "platform/cpu/stream_set.h"
#include "platform/cpu/time_marks.h"

namespace dlo::platform {

namespace {

// Events by number, in chunks that never move, so that any thread may query while others are made.
class EventTable {
 public:
  EventId create() {
    const std::lock_guard lock(mutex_);
    const std::uint32_t number = count_.load();
    require(number < kChunks * kChunkEvents, "too many events on one device");
    if (number % kChunkEvents == 0) {
      chunks_.at(number / kChunkEvents) = std::make_unique<Chunk>();
    }
    count_.store(number + 1);
    return EventId{number};
  }

  void set(EventId event, StreamPosition position) {
    cell(event).store(position.position << kStreamBits |
                      static_cast<std::uint64_t>(position.stream));
  }

  [[nodiscard]] StreamPosition get(EventId event) const {
    const std::uint64_t packed = cell(event).load();
    return StreamPosition{static_cast<StreamKind>(packed & ((1U << kStreamBits) - 1)),
                          packed >> kStreamBits};
  }

 private:
  static constexpr std::uint32_t kChunkEvents = 256;
  static constexpr std::uint32_t kChunks = 256;
  static constexpr unsigned kStreamBits = 2;
  using Chunk = std::array<std::atomic<std::uint64_t>, kChunkEvents>;

  [[nodiscard]] std::atomic<std::uint64_t>& cell(EventId event) const {
    require(event.value < count_.load(), "the event was not made by this device");
    return (*chunks_[event.value / kChunkEvents])[event.value % kChunkEvents];
  }

  std::mutex mutex_;
  std::atomic<std::uint32_t> count_{0};
  std::array<std::unique_ptr<Chunk>, kChunks> chunks_;
};

class CpuDevice : public Device {
 public:
  CpuDevice(const CpuDeviceOptions& options, Clock& clock, FailureSignal& signal)
      : clock_(clock),
        streams_(std::make_shared<StreamSet>(options, clock, signal)),
        marks_(std::make_shared<TimeMarks>()),
        memory_(std::make_shared<CpuMemory>(options.device_budget_bytes,
                                            options.pinned_budget_bytes, streams_)) {
    StreamSet::start(streams_);
  }
  ~CpuDevice() override { streams_->stop(); }
  CpuDevice(const CpuDevice&) = delete;
  CpuDevice& operator=(const CpuDevice&) = delete;

  std::string_view kind() const override { return "cpu"; }
  Clock& clock() override { return clock_; }

  Result<std::unique_ptr<DeviceBuffer>> allocate_device(std::uint64_t bytes,
                                                        MemoryPurpose purpose) override {
    return allocate_cpu_device_memory(memory_, bytes, purpose);
  }
  Result<std::unique_ptr<HostBuffer>> allocate_pinned(std::uint64_t bytes,
                                                      MemoryPurpose purpose) override {
    return allocate_cpu_pinned_memory(memory_, bytes, purpose);
  }
  Result<std::unique_ptr<HostBuffer>> allocate_pageable(std::uint64_t bytes,
                                                        MemoryPurpose purpose) override {
    return allocate_cpu_pageable_memory(memory_, bytes, purpose);
  }
  EventId create_event() override { return events_.create(); }

  void record(EventId event, StreamKind stream, const OpLabel& label) override {
    events_.set(event, streams_->issue_marker(stream, label));
  }
  void wait(StreamKind stream, EventId event, const OpLabel& label) override {
    streams_->issue_wait(stream, events_.get(event), label);
  }
  void copy_to_device(StreamKind stream, DeviceSpan destination, ConstByteSpan source,
                      const OpLabel& label) override {
    require(destination.bytes == source.size(), "copy to device: sizes differ");
    streams_->issue_copy(stream, ByteSpan(destination.data, destination.bytes), source, label);
  }
  void copy_to_host(StreamKind stream, ByteSpan destination, DeviceSpan source,
                    const OpLabel& label) override {
    require(destination.size() == source.bytes, "copy to host: sizes differ");
    streams_->issue_copy(stream, destination, ConstByteSpan(source.data, source.bytes), label);
  }
  void launch(StreamKind stream, StreamTask task, const OpLabel& label) override {
    require(static_cast<bool>(task), "launch needs a task");
    streams_->issue_task(stream, std::move(task), label);
  }

  TimeMarkId create_time_mark() override { return marks_->create(); }
  void mark_time(TimeMarkId mark, StreamKind stream) override {
    marks_->reset(mark);
    marks_->issued(
        mark,
        streams_->issue_task(
            stream, [marks = marks_, mark, clock = &clock_] { marks->note(mark, clock->now()); },
            OpLabel{Site::kModel}));
  }
  std::optional<Nanoseconds> elapsed(TimeMarkId from, TimeMarkId to) const override {
    return marks_->elapsed(*streams_, from, to);
  }

  bool query(EventId event) const override { return streams_->completed(events_.get(event)); }
  Status wait_host(EventId event, Deadline deadline, const OpLabel& label) override {
    return streams_->wait_host(events_.get(event), deadline, label);
  }
  Status synchronize(Deadline deadline) override { return streams_->synchronize(deadline); }
  std::optional<Refusal> failure() const override { return streams_->failure(); }

  MemoryUse device_memory() const override { return memory_->device.use(); }
  MemoryUse device_memory(MemoryPurpose purpose) const override {
    return memory_->device.use(purpose);
  }
  MemoryUse pinned_memory() const override { return memory_->pinned.use(); }
  MemoryUse pageable_memory() const override { return memory_->pageable.use(); }

 private:
  Clock& clock_;
  EventTable events_;
  std::shared_ptr<StreamSet> streams_;
  std::shared_ptr<TimeMarks> marks_;
  std::shared_ptr<CpuMemory> memory_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(const CpuDeviceOptions& options, Clock& clock,
                                        FailureSignal& signal) {
  return std::make_unique<CpuDevice>(options, clock, signal);
}

}  // namespace dlo::platform
