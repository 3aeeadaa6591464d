#include "platform/cuda/cuda_device.h"

#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <mutex>
#include <utility>
#include <vector>

#include "base/codes.h"
#include "base/thrown_refusal.h"
#include "platform/cuda/cuda_error.h"
#include "platform/cuda/cuda_memory.h"
#include "platform/cuda/host_tasks.h"

namespace dlo::platform {

namespace {

// Host waits poll without sleeping at first: a block's end is then seen within microseconds.
constexpr Nanoseconds kSpin = 2 * kMillisecond;
constexpr Nanoseconds kPollSleep = 20 * kMicrosecond;

// The first failure, which any of CUDA's threads may be the one to see; shared with the host tasks,
// which may outlive the device when a stream is stuck.
class FirstFailure {
 public:
  FirstFailure(int rank, FailureSignal& signal) : rank_(rank), signal_(signal) {}

  void fail(const Refusal& refusal, const OpLabel& label) {
    if (note(refusal)) {
      signal_.raise(Failure{refusal.code, rank_, label.block, std::string(site_name(label.site)),
                            refusal.what});
    }
  }
  // True for the first one, which nobody hears of.
  bool note(const Refusal& refusal) {
    const std::lock_guard lock(mutex_);
    if (refusal_) {
      return false;
    }
    refusal_ = refusal;
    failed_.store(true);
    return true;
  }
  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::optional<Refusal> get() const {
    if (!failed()) {
      return std::nullopt;
    }
    const std::lock_guard lock(mutex_);
    return refusal_;
  }

 private:
  int rank_;
  FailureSignal& signal_;
  mutable std::mutex mutex_;
  std::atomic<bool> failed_{false};
  std::optional<Refusal> refusal_;
};

// Events are made once and live as long as the device.
class EventPool {
 public:
  explicit EventPool(unsigned int flags) : flags_(flags) {}
  ~EventPool() {
    for (cudaEvent_t event : events_) {
      static_cast<void>(cudaEventDestroy(event));
    }
  }
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  std::uint32_t create() {
    cudaEvent_t event = nullptr;
    check_cuda(cudaEventCreateWithFlags(&event, flags_), "cannot create an event");
    events_.push_back(event);
    return static_cast<std::uint32_t>(events_.size() - 1);
  }
  [[nodiscard]] cudaEvent_t at(std::uint32_t number) const {
    require(number < events_.size(), "the event was not made by this device");
    return events_[number];
  }

 private:
  unsigned int flags_;
  std::vector<cudaEvent_t> events_;
};

class CudaDevice : public Device {
 public:
  CudaDevice(const CudaDeviceOptions& options, Clock& clock, FailureSignal& signal)
      : options_(options),
        clock_(clock),
        signal_(signal),
        failure_(std::make_shared<FirstFailure>(options.rank, signal)),
        streams_(make_streams(options)),
        memory_(std::make_shared<CudaMemory>(options.device_budget_bytes,
                                             options.pinned_budget_bytes, streams_)),
        host_tasks_(std::make_unique<HostTasks>(
            [failure = failure_](const auto& thrown, const auto& label) {
              failure->fail(thrown_refusal(thrown, label_text(label)), label);
            },
            [failure = failure_] { return failure->failed(); })) {
    drain_event_ = events_.create();
    // The driver starts the thread of its host functions at the first one: with the device, not in
    // the middle of a run whose threads are counted.
    check_cuda(cudaLaunchHostFunc(
                   stream(StreamKind::kPack), [](void*) {}, nullptr),
               "cannot launch a host function");
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  ~CudaDevice() override;

  std::string_view kind() const override { return "cuda"; }
  Clock& clock() override { return clock_; }

  Result<std::unique_ptr<DeviceBuffer>> allocate_device(std::uint64_t bytes,
                                                        MemoryPurpose purpose) override;
  Result<std::unique_ptr<HostBuffer>> allocate_pinned(std::uint64_t bytes,
                                                      MemoryPurpose purpose) override {
    return allocate_cuda_pinned_memory(memory_, bytes, purpose);
  }
  Result<std::unique_ptr<HostBuffer>> allocate_pageable(std::uint64_t bytes,
                                                        MemoryPurpose purpose) override {
    return allocate_cuda_pageable_memory(memory_, bytes, purpose);
  }
  EventId create_event() override { return EventId{events_.create()}; }

  // Behind a failure too: who waits for the event must not run ahead of what is still on the
  // stream.
  void record(EventId event, StreamKind kind, const OpLabel& label) override {
    expect(cudaEventRecord(events_.at(event.value), stream(kind)), label);
  }
  // CUDA's own rule for an event that was never recorded is the seam's: nothing to wait for.
  void wait(StreamKind kind, EventId event, const OpLabel& label) override {
    if (!failure_->failed()) {
      expect(cudaStreamWaitEvent(stream(kind), events_.at(event.value), 0), label);
    }
  }
  void copy_to_device(StreamKind kind, DeviceSpan destination, ConstByteSpan source,
                      const OpLabel& label) override {
    require(destination.bytes == source.size(), "copy to device: sizes differ");
    copy(kind, destination.data, source.data(), source.size(), cudaMemcpyHostToDevice, label);
  }
  void copy_to_host(StreamKind kind, ByteSpan destination, DeviceSpan source,
                    const OpLabel& label) override {
    require(destination.size() == source.bytes, "copy to host: sizes differ");
    copy(kind, destination.data(), source.data, source.bytes, cudaMemcpyDeviceToHost, label);
  }
  void launch(StreamKind kind, StreamTask task, const OpLabel& label) override;
  void launch_host(StreamKind kind, StreamTask task, const OpLabel& label) override;
  NativeStream native_stream(StreamKind kind) const override {
    return NativeStream{options_.ordinal, streams_->at(kind)};
  }

  TimeMarkId create_time_mark() override { return TimeMarkId{marks_.create()}; }
  void mark_time(TimeMarkId mark, StreamKind kind) override {
    if (!failure_->failed()) {
      expect(cudaEventRecord(marks_.at(mark.value), stream(kind)), OpLabel{});
    }
  }
  std::optional<Nanoseconds> elapsed(TimeMarkId from, TimeMarkId to) const override;

  bool query(EventId event) const override {
    return cudaEventQuery(events_.at(event.value)) != cudaErrorNotReady;
  }
  Status wait_host(EventId event, Deadline deadline, const OpLabel& label) override {
    return poll(events_.at(event.value), deadline, label);
  }
  Status synchronize(Deadline deadline) override;
  std::optional<Refusal> failure() const override { return failure_->get(); }

  MemoryUse device_memory() const override { return memory_->device.use(); }
  MemoryUse device_memory(MemoryPurpose purpose) const override {
    return memory_->device.use(purpose);
  }
  MemoryUse pinned_memory() const override { return memory_->pinned.use(); }
  MemoryUse pageable_memory() const override { return memory_->pageable.use(); }

 private:
  static std::shared_ptr<CudaStreams> make_streams(const CudaDeviceOptions& options) {
    check_cuda(cudaSetDevice(options.ordinal), fmt::format("cannot use GPU {}", options.ordinal));
    return std::make_shared<CudaStreams>(options.idle_timeout);
  }
  [[nodiscard]] cudaStream_t stream(StreamKind kind) const { return streams_->at(kind); }

  void copy(StreamKind kind, void* destination, const void* source, std::uint64_t bytes,
            cudaMemcpyKind direction, const OpLabel& label) {
    if (!failure_->failed() && bytes > 0) {
      expect(cudaMemcpyAsync(destination, source, bytes, direction, stream(kind)), label);
    }
  }
  void expect(cudaError_t status, const OpLabel& label) {
    if (status != cudaSuccess) {
      fail(refuse(codes::kCudaFailed, cuda_error_text(status), label_text(label),
                  "look at the first failing operation; the CUDA context may be lost"),
           label);
    }
  }
  void fail(const Refusal& refusal, const OpLabel& label) { failure_->fail(refusal, label); }
  Status poll(cudaEvent_t event, Deadline deadline, const OpLabel& label);
  std::optional<Refusal> reason_to_leave(Deadline deadline, const OpLabel& label) const;

  CudaDeviceOptions options_;
  Clock& clock_;
  FailureSignal& signal_;
  std::shared_ptr<FirstFailure> failure_;
  std::shared_ptr<CudaStreams> streams_;
  std::shared_ptr<CudaMemory> memory_;
  std::unique_ptr<HostTasks> host_tasks_;
  EventPool events_{cudaEventDisableTiming};
  EventPool marks_{cudaEventDefault};
  std::uint32_t drain_event_ = 0;
};

CudaDevice::~CudaDevice() {
  if (!streams_->wait_idle()) {
    // Host tasks that are still to come look at their ring and find that they are to be dropped.
    static_cast<void>(failure_->note(refuse(codes::kDeadlineExceeded, "a stream was left busy",
                                            "teardown of the device", "see the first failure")));
    static_cast<void>(host_tasks_.release());
  }
}

Result<std::unique_ptr<DeviceBuffer>> CudaDevice::allocate_device(std::uint64_t bytes,
                                                                  MemoryPurpose purpose) {
  auto buffer = allocate_cuda_device_memory(memory_, bytes, purpose);
  if (!buffer.ok() || bytes == 0) {
    return buffer;
  }
  const OpLabel label{.site = Site::kPlacement};
  cudaStream_t copy_stream = stream(StreamKind::kCopy);
  expect(cudaMemsetAsync((*buffer)->span().data, 0, bytes, copy_stream), label);
  expect(cudaEventRecord(events_.at(drain_event_), copy_stream), label);
  const auto deadline = Deadline::after(clock_.now(), options_.clear_timeout);
  if (auto status = poll(events_.at(drain_event_), deadline, label); !status.ok()) {
    return status.refusal();
  }
  return buffer;
}

void CudaDevice::launch(StreamKind /*kind*/, StreamTask task, const OpLabel& label) {
  require(static_cast<bool>(task), "launch needs a task");
  if (failure_->failed()) {
    return;
  }
  try {
    task();
  } catch (...) {
    fail(thrown_refusal(std::current_exception(), label_text(label)), label);
  }
}

void CudaDevice::launch_host(StreamKind kind, StreamTask task, const OpLabel& label) {
  require(static_cast<bool>(task), "launch_host needs a task");
  const auto deadline = Deadline::after(clock_.now(), options_.clear_timeout);
  while (!host_tasks_->has_room()) {
    if (auto reason = reason_to_leave(deadline, label)) {
      fail(*reason, label);
      return;
    }
    clock_.sleep(kPollSleep);
  }
  if (!failure_->failed()) {
    expect(host_tasks_->issue(stream(kind), std::move(task), label), label);
  }
}

std::optional<Nanoseconds> CudaDevice::elapsed(TimeMarkId from, TimeMarkId to) const {
  float milliseconds = 0.0F;
  const auto status =
      cudaEventElapsedTime(&milliseconds, marks_.at(from.value), marks_.at(to.value));
  if (status != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return std::nullopt;
  }
  return static_cast<Nanoseconds>(std::llround(static_cast<double>(milliseconds) * 1e6));
}

Status CudaDevice::synchronize(Deadline deadline) {
  const OpLabel label{.site = Site::kDrain};
  for (const auto kind : kAllStreams) {
    expect(cudaEventRecord(events_.at(drain_event_), stream(kind)), label);
    if (auto status = poll(events_.at(drain_event_), deadline, label); !status.ok()) {
      return status;
    }
  }
  return {};
}

// Never blocks in the driver, which knows no deadline.
Status CudaDevice::poll(cudaEvent_t event, Deadline deadline, const OpLabel& label) {
  const Nanoseconds begin = clock_.now();
  while (true) {
    const auto status = cudaEventQuery(event);
    if (status != cudaErrorNotReady) {
      expect(status, label);
      if (const auto own = failure_->get()) {
        return *own;
      }
      // A peer that failed has ended its gathers: what came out of them may be anything.
      const auto peer = signal_.poll();
      return peer ? Status(peer->refusal()) : Status{};
    }
    if (auto reason = reason_to_leave(deadline, label)) {
      return *std::move(reason);
    }
    if (clock_.now() - begin > kSpin) {
      clock_.sleep(kPollSleep);
    }
  }
}

std::optional<Refusal> CudaDevice::reason_to_leave(Deadline deadline, const OpLabel& label) const {
  if (auto own = failure_->get()) {
    return own;
  }
  if (const auto failure = signal_.poll()) {
    return failure->refusal();
  }
  if (deadline.expired(clock_.now())) {
    return refuse(codes::kDeadlineExceeded, "the device did not get there in time",
                  fmt::format("rank {}, {}", options_.rank, label_text(label)),
                  "look for a stuck peer or raise the time limit");
  }
  return std::nullopt;
}

}  // namespace

std::unique_ptr<Device> make_cuda_device(const CudaDeviceOptions& options, Clock& clock,
                                         FailureSignal& signal) {
  return std::make_unique<CudaDevice>(options, clock, signal);
}

}  // namespace dlo::platform
