#include "platform/sim/sim_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/codes.h"

namespace dlo::platform::sim {

namespace {

// What a destination holds while a copy into it is under way: signalling NaN patterns in F32.
constexpr int kPoison = 0xFB;

// Virtual. Collectives that wait for a peer end earlier by their own deadline.
constexpr Nanoseconds kJoinTimeout = 1000 * kSecond;

// Shared by the two ends of a task's interval: it runs at exactly one of them.
struct PendingTask {
  StreamTask task;
};

void add_run(RanBeside& ran, StreamKind stream, Nanoseconds time) {
  ran.copies += stream == StreamKind::kCopy ? time : 0;
  ran.gathers += stream == StreamKind::kComm ? time : 0;
}

}  // namespace

void SimClock::sleep(Nanoseconds duration) {
  const auto wake = Deadline::after(kernel_->now(), duration);
  auto awake = std::make_shared<bool>(false);
  kernel_->schedule(wake.at, [awake] { *awake = true; });
  static_cast<void>(kernel_->block(
      rank_, [awake] { return *awake; }, Deadline{}, "sleep"));
}

SimDevice::SimDevice(SimKernel& kernel, const SimDeviceSettings& settings, FailureSignal& signal)
    : kernel_(&kernel),
      settings_(settings),
      signal_(&signal),
      clock_(kernel, settings.rank),
      memory_(std::make_shared<SimMemory>(settings.budgets)) {
  require(settings.costs != nullptr, "SimDevice needs a cost model");
  kernel.set_wait_reporter(settings.rank, [this] { return stream_report(); });
}

SimDevice::~SimDevice() {
  kernel_->set_wait_reporter(rank(), nullptr);
  if (!idle() && !kernel_->deadlines_expected()) {
    kernel_->violate(fmt::format("rank {} let go of its device with operations in flight\n{}",
                                 settings_.rank, stream_report()));
  }
  // As a device that joins its threads: nothing may run on it afterwards.
  static_cast<void>(kernel_->block(
      rank(), [this] { return idle(); }, Deadline::after(kernel_->now(), kJoinTimeout),
      "end of the device"));
}

Result<std::unique_ptr<DeviceBuffer>> SimDevice::allocate_device(std::uint64_t bytes,
                                                                 MemoryPurpose purpose) {
  return memory_->allocate_device(bytes, purpose);
}

Result<std::unique_ptr<HostBuffer>> SimDevice::allocate_pinned(std::uint64_t bytes,
                                                               MemoryPurpose purpose) {
  return memory_->allocate_pinned(bytes, purpose);
}

Result<std::unique_ptr<HostBuffer>> SimDevice::allocate_pageable(std::uint64_t bytes,
                                                                 MemoryPurpose purpose) {
  return memory_->allocate_pageable(bytes, purpose);
}

EventId SimDevice::create_event() {
  latest_record_.emplace_back();
  return EventId{static_cast<std::uint32_t>(latest_record_.size() - 1)};
}

void SimDevice::record(EventId event, StreamKind stream, const OpLabel& label) {
  latest_record_.at(event.value) = issue({.facts = {rank(), stream, OpKind::kRecord, label, 0}});
}

void SimDevice::wait(StreamKind stream, EventId event, const OpLabel& label) {
  const auto record = latest_record_.at(event.value);
  if (record) {
    issue({.facts = {rank(), stream, OpKind::kWait, label, 0}, .waits_for = record});
  }
}

void SimDevice::copy_to_device(StreamKind stream, DeviceSpan destination, ConstByteSpan source,
                               const OpLabel& label) {
  require(destination.bytes == source.size(), "copy_to_device: sizes differ");
  OpEffect effect;
  effect.accesses = {{destination.data, destination.bytes, true}};
  effect.at_start = [destination] { std::memset(destination.data, kPoison, destination.bytes); };
  effect.at_end = [destination, source] {
    std::memcpy(destination.data, source.data(), source.size());
  };
  if (source.empty()) {
    effect = {};
  }
  issue({.facts = {rank(), stream, OpKind::kCopy, label, source.size()},
         .effect = std::move(effect)});
}

void SimDevice::copy_to_host(StreamKind stream, ByteSpan destination, DeviceSpan source,
                             const OpLabel& label) {
  require(destination.size() == source.bytes, "copy_to_host: sizes differ");
  OpEffect effect;
  if (!destination.empty()) {
    effect.accesses = {{source.data, source.bytes, false}};
    effect.at_end = [destination, source] {
      std::memcpy(destination.data(), source.data, source.bytes);
    };
  }
  issue(
      {.facts = {rank(), stream, OpKind::kCopy, label, source.bytes}, .effect = std::move(effect)});
}

void SimDevice::launch(StreamKind stream, StreamTask task, const OpLabel& label) {
  auto pending = std::make_shared<PendingTask>(PendingTask{std::move(task)});
  const auto run = [this, pending, label] {
    run_guarded([&pending] { pending->task(); }, label);
    pending->task.reset();
  };
  OpEffect effect;
  if (settings_.costs->explores() && kernel_->random().chance(50)) {
    effect.at_start = run;
  } else {
    effect.at_end = run;
  }
  issue({.facts = {rank(), stream, OpKind::kTask, label, 0}, .effect = std::move(effect)});
}

void SimDevice::issue_collective(StreamKind stream, std::uint64_t bytes, OpEffect effect,
                                 std::function<void(OpIndex)> arrived, const OpLabel& label) {
  issue({.facts = {rank(), stream, OpKind::kCollective, label, bytes},
         .effect = std::move(effect),
         .arrived = std::move(arrived)});
}

OpIndex SimDevice::issue(Op op) {
  const auto waits_for = op.waits_for;
  const Nanoseconds host_cost = settings_.costs->host_cost(op.facts);
  auto& last = last_issued_[static_cast<std::size_t>(op.facts.stream)];
  ops_.push_back(std::move(op));
  const OpIndex index = ops_.size() - 1;
  if (waits_for) {
    depend(index, *waits_for);
  }
  if (last) {
    depend(index, *last);
  }
  last = index;
  arm_if_free(index);
  if (host_cost > 0) {
    clock_.sleep(host_cost);
  }
  kernel_->yield(rank());
  return index;
}

void SimDevice::depend(OpIndex op, OpIndex on) {
  if (ops_[on].state != OpState::kEnded) {
    ops_[on].successors.push_back(op);
    ++ops_[op].open_dependencies;
  }
}

void SimDevice::arm_if_free(OpIndex op) {
  auto& record = ops_[op];
  if (record.open_dependencies > 0 || record.state != OpState::kIssued) {
    return;
  }
  record.state = OpState::kArmed;
  const Nanoseconds delay =
      failure_ ? 0 : settings_.costs->start_delay(record.facts, kernel_->random());
  kernel_->schedule(kernel_->now() + delay, [this, op] { start(op); });
}

void SimDevice::start(OpIndex op) {
  auto& record = ops_[op];
  if (failure_) {
    end(op);
    return;
  }
  if (record.arrived) {
    record.state = OpState::kArrived;
    record.arrived(op);
    return;
  }
  begin(op, settings_.costs->duration(record.facts, kernel_->random()));
}

void SimDevice::begin_collective(OpIndex op, Nanoseconds duration) {
  if (ops_[op].state == OpState::kArrived) {
    begin(op, duration);
  }
}

void SimDevice::begin(OpIndex op, Nanoseconds duration) {
  auto& record = ops_[op];
  record.state = OpState::kRunning;
  record.began = kernel_->now();
  record.ran_before = ran_so_far();
  check_overlap(record);
  running_.push_back(op);
  if (record.effect.at_start) {
    record.effect.at_start();
  }
  kernel_->schedule(kernel_->now() + duration, [this, op] { end(op); });
}

RanBeside SimDevice::ran_so_far() const {
  RanBeside ran = ran_;
  for (const OpIndex op : running_) {
    add_run(ran, ops_[op].facts.stream, kernel_->now() - ops_[op].began);
  }
  return ran;
}

bool SimDevice::moves_end(OpIndex op) {
  auto& record = ops_[op];
  const RanBeside now = ran_so_far();
  const Nanoseconds lost = settings_.costs->lost(
      record.facts,
      {now.copies - record.ran_before.copies, now.gathers - record.ran_before.gathers});
  const Nanoseconds more = lost - std::exchange(record.lost, lost);
  if (more > 0) {
    kernel_->schedule(kernel_->now() + more, [this, op] { end(op); });
  }
  return more > 0;
}

void SimDevice::end(OpIndex op) {
  auto& record = ops_[op];
  if (record.state == OpState::kEnded) {
    return;
  }
  const bool ran = record.state == OpState::kRunning;
  if (ran && !failure_ && moves_end(op)) {
    return;
  }
  if (ran && record.effect.at_end && !failure_) {
    record.effect.at_end();
  }
  if (ran && settings_.trace != nullptr) {
    settings_.trace->push_back(
        {record.began, kernel_->now(), rank(), record.facts.stream, record.facts.label});
  }
  record.state = OpState::kEnded;
  record.effect = {};
  record.arrived = nullptr;
  if (std::erase(running_, op) > 0) {
    add_run(ran_, record.facts.stream, kernel_->now() - record.began);
  }
  ++ended_count_;
  kernel_->trace((static_cast<std::uint64_t>(kernel_->now()) << 12U) ^ (op << 4U) ^
                 static_cast<std::uint64_t>(settings_.rank));
  for (const OpIndex successor : std::exchange(record.successors, {})) {
    --ops_[successor].open_dependencies;
    arm_if_free(successor);
  }
}

void SimDevice::check_overlap(const Op& op) {
  for (const OpIndex other : running_) {
    for (const auto& a : op.effect.accesses) {
      for (const auto& b : ops_[other].effect.accesses) {
        if ((a.writes || b.writes) && a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes) {
          kernel_->violate(fmt::format("rank {}: '{}' starts while '{}' uses the same bytes",
                                       settings_.rank, label_text(op.facts.label),
                                       label_text(ops_[other].facts.label)));
        }
      }
    }
  }
}

void SimDevice::run_guarded(const std::function<void()>& action, const OpLabel& label) {
  try {
    action();
  } catch (const RunError& error) {
    fail(error.refusal(), label);
  } catch (const Error& error) {
    fail(refuse(error.code(), error.what(), label_text(label), "this is a bug"), label);
  }
}

void SimDevice::fail(const Refusal& refusal, const OpLabel& label) {
  if (failure_) {
    return;
  }
  signal_->raise(Failure{refusal.code, settings_.rank, label.block,
                         std::string(site_name(label.site)), refusal.what});
  stop(refusal);
}

void SimDevice::leave_collectives(const Refusal& refusal) {
  const bool waits = std::any_of(ops_.begin(), ops_.end(),
                                 [](const Op& op) { return op.state == OpState::kArrived; });
  if (waits && !failure_) {
    stop(refusal);
  }
}

void SimDevice::stop(const Refusal& refusal) {
  failure_ = refusal;
  for (OpIndex op = 0; op < ops_.size(); ++op) {
    if (ops_[op].state == OpState::kArrived) {
      end(op);
    }
  }
}

bool SimDevice::query(EventId event) const {
  const auto record = latest_record_.at(event.value);
  return !record || ops_[*record].state == OpState::kEnded;
}

Status SimDevice::wait_until(std::function<bool()> done, Deadline deadline,
                             const std::string& what) {
  const auto ready = [this, &done] {
    return done() || failure_.has_value() || signal_->poll().has_value();
  };
  const bool in_time = kernel_->block(settings_.rank, ready, deadline, what);
  if (failure_) {
    return *failure_;
  }
  if (done()) {
    return {};
  }
  if (const auto failure = signal_->poll()) {
    return failure->refusal();
  }
  require(!in_time, "a wait ended without a reason");
  return refuse(codes::kDeadlineExceeded, "the device did not reach " + what + " in time",
                fmt::format("rank {}", settings_.rank), "look for a stuck peer or raise the limit");
}

Status SimDevice::wait_host(EventId event, Deadline deadline, const OpLabel& label) {
  const auto record = latest_record_.at(event.value);
  return wait_until([this, record] { return !record || ops_[*record].state == OpState::kEnded; },
                    deadline, label_text(label));
}

Status SimDevice::synchronize(Deadline deadline) {
  return wait_until([this] { return idle(); }, deadline, "synchronize");
}

std::string SimDevice::stream_report() const {
  std::string text;
  for (OpIndex op = 0; op < ops_.size(); ++op) {
    const auto& record = ops_[op];
    const bool head = record.state != OpState::kEnded &&
                      (record.state != OpState::kIssued || record.facts.kind == OpKind::kWait);
    if (!head) {
      continue;
    }
    text += fmt::format("  rank {} {} stream: {}", settings_.rank, stream_name(record.facts.stream),
                        label_text(record.facts.label));
    if (record.waits_for) {
      const auto& target = ops_[*record.waits_for].facts;
      text += fmt::format(" <- {} on {}", label_text(target.label), stream_name(target.stream));
    } else if (record.state == OpState::kArrived) {
      text += " <- its peers";
    }
    text += "\n";
  }
  return text;
}

MemoryUse SimDevice::device_memory() const {
  return memory_->device().use();
}
MemoryUse SimDevice::device_memory(MemoryPurpose purpose) const {
  return memory_->device().use(purpose);
}
MemoryUse SimDevice::pinned_memory() const {
  return memory_->pinned().use();
}
MemoryUse SimDevice::pageable_memory() const {
  return memory_->pageable().use();
}

}  // namespace dlo::platform::sim
