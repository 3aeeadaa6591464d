// Owns: SimDevice, a Device whose streams run on the kernel's virtual time: every order that stream
// order and events allow can happen, and a write that overlaps a read shows.
// Must not own: time or choice of schedule (sim_kernel.h), collectives' membership (comm/sim).
//
// A copy poisons its destination when it starts and delivers the bytes when it ends, and a task
// runs at the start or at the end of its interval (seeded): a missing wait is thus seen as wrong
// bytes. Two operations in flight whose ranges overlap, one of them writing, are a violation.
// Memory is ordinary host memory; budgets and books are kept by purpose.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "base/failure_signal.h"
#include "platform/clock.h"
#include "platform/device.h"
#include "platform/sim/cost_model.h"
#include "platform/sim/sim_kernel.h"
#include "platform/sim/sim_memory.h"

namespace dlo::platform::sim {

class SimClock : public Clock {
 public:
  SimClock(SimKernel& kernel, int rank) : kernel_(&kernel), rank_(rank) {}
  [[nodiscard]] Nanoseconds now() const override { return kernel_->now(); }
  void sleep(Nanoseconds duration) override;
  [[nodiscard]] std::string wall_time_text() const override { return "1970-01-01T00:00:00Z"; }

 private:
  SimKernel* kernel_;
  int rank_;
};

// Byte ranges that an operation touches, for the overlap check.
struct Access {
  const std::byte* begin = nullptr;
  std::uint64_t bytes = 0;
  bool writes = false;
};

using OpIndex = std::size_t;

// What an operation does when its interval starts and ends; both may be empty.
struct OpEffect {
  std::vector<Access> accesses;
  std::function<void()> at_start;
  std::function<void()> at_end;
};

// An operation that has run, for timelines.
struct SimTraceRow {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  int rank = 0;
  StreamKind stream = StreamKind::kCompute;
  OpLabel label;
};

struct SimDeviceSettings {
  int rank = 0;
  MemoryBudgets budgets;
  const CostModel* costs = nullptr;           // not owned
  std::vector<SimTraceRow>* trace = nullptr;  // not owned; null: no trace is kept
};

class SimDevice : public Device {
 public:
  SimDevice(SimKernel& kernel, const SimDeviceSettings& settings, FailureSignal& signal);
  ~SimDevice() override;

  [[nodiscard]] std::string_view kind() const override { return "sim"; }
  [[nodiscard]] Clock& clock() override { return clock_; }
  [[nodiscard]] Result<std::unique_ptr<DeviceBuffer>> allocate_device(
      std::uint64_t bytes, MemoryPurpose purpose) override;
  [[nodiscard]] Result<std::unique_ptr<HostBuffer>> allocate_pinned(std::uint64_t bytes,
                                                                    MemoryPurpose purpose) override;
  [[nodiscard]] Result<std::unique_ptr<HostBuffer>> allocate_pageable(
      std::uint64_t bytes, MemoryPurpose purpose) override;
  [[nodiscard]] EventId create_event() override;

  void record(EventId event, StreamKind stream, const OpLabel& label) override;
  void wait(StreamKind stream, EventId event, const OpLabel& label) override;
  void copy_to_device(StreamKind stream, DeviceSpan destination, ConstByteSpan source,
                      const OpLabel& label) override;
  void copy_to_host(StreamKind stream, ByteSpan destination, DeviceSpan source,
                    const OpLabel& label) override;
  void launch(StreamKind stream, StreamTask task, const OpLabel& label) override;

  [[nodiscard]] bool query(EventId event) const override;
  [[nodiscard]] Status wait_host(EventId event, Deadline deadline, const OpLabel& label) override;
  [[nodiscard]] Status synchronize(Deadline deadline) override;
  [[nodiscard]] std::optional<Refusal> failure() const override { return failure_; }

  [[nodiscard]] MemoryUse device_memory() const override;
  [[nodiscard]] MemoryUse device_memory(MemoryPurpose purpose) const override;
  [[nodiscard]] MemoryUse pinned_memory() const override;
  [[nodiscard]] MemoryUse pageable_memory() const override;

  // --- for comm/sim -----------------------------------------------------------------------
  // Enqueues an operation that, when it could start, calls `arrived(op)` instead of starting; the
  // collective then calls begin_collective(op, duration) on all members at one instant.
  void issue_collective(StreamKind stream, std::uint64_t bytes, OpEffect effect,
                        std::function<void(OpIndex)> arrived, const OpLabel& label);
  void begin_collective(OpIndex op, Nanoseconds duration);
  // Fails the device for good; operations that have not started are skipped.
  void fail(const Refusal& refusal, const OpLabel& label);
  // A peer failed: a collective that waits for its peers ends with `refusal`, and so does the
  // device.
  void leave_collectives(const Refusal& refusal);
  [[nodiscard]] std::uint64_t live_buffer_count() const { return memory_->live_buffer_count(); }
  [[nodiscard]] int rank() const { return settings_.rank; }
  [[nodiscard]] const CostModel& costs() const { return *settings_.costs; }
  [[nodiscard]] SimKernel& kernel() { return *kernel_; }

 private:
  enum class OpState : std::uint8_t { kIssued, kArmed, kArrived, kRunning, kEnded };
  struct Op {
    OpFacts facts;
    OpEffect effect = {};
    std::function<void(OpIndex)> arrived = nullptr;   // collectives only
    std::optional<OpIndex> waits_for = std::nullopt;  // of a kWait: the record that it waits for
    OpState state = OpState::kIssued;
    Nanoseconds began = 0;
    RanBeside ran_before = {};  // on their streams, up to `began`
    Nanoseconds lost = 0;       // by which the end has moved so far
    std::uint32_t open_dependencies = 0;
    std::vector<OpIndex> successors = {};
  };

  // Appends `op` to its stream behind what was issued there and what it waits for, and lets others
  // run now and then.
  OpIndex issue(Op op);
  void depend(OpIndex op, OpIndex on);
  void arm_if_free(OpIndex op);
  void start(OpIndex op);
  void begin(OpIndex op, Nanoseconds duration);
  // Moves the end of an operation that lost time to its neighbours; true when it moved.
  bool moves_end(OpIndex op);
  void end(OpIndex op);
  // Time that copies and gathers have run on this device so far.
  [[nodiscard]] RanBeside ran_so_far() const;
  void check_overlap(const Op& op);
  // Marks the device failed and ends the operations that wait for peers.
  void stop(const Refusal& refusal);
  [[nodiscard]] bool idle() const { return ended_count_ == ops_.size(); }
  [[nodiscard]] Status wait_until(std::function<bool()> done, Deadline deadline,
                                  const std::string& what);
  [[nodiscard]] std::string stream_report() const;
  void run_guarded(const std::function<void()>& action, const OpLabel& label);

  SimKernel* kernel_;
  SimDeviceSettings settings_;
  FailureSignal* signal_;
  SimClock clock_;
  std::shared_ptr<SimMemory> memory_;
  std::deque<Op> ops_;
  std::array<std::optional<OpIndex>, kStreamCount> last_issued_;
  std::vector<std::optional<OpIndex>> latest_record_;  // by event
  std::vector<OpIndex> running_;
  std::size_t ended_count_ = 0;
  RanBeside ran_;  // by operations that have ended
  std::optional<Refusal> failure_;
};

}  // namespace dlo::platform::sim
