#include "platform/cpu/stream_set.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

#include "base/codes.h"
#include "base/error.h"
#include "base/thrown_refusal.h"
#include "platform/posix/thread_name.h"

namespace dlo::platform {

namespace {

// How often a waiting host thread looks at failures and its deadline.
constexpr std::chrono::milliseconds kHostSlice{2};

// The set whose stream this thread is, if any.
thread_local const StreamSet* current_set = nullptr;

}  // namespace

StreamSet::StreamSet(const CpuDeviceOptions& options, Clock& clock, FailureSignal& signal)
    : options_(options), clock_(clock), signal_(signal) {
  require(options.queue_capacity > 0, "a stream's queue must hold an operation");
  for (Stream& stream : streams_) {
    stream.ring.resize(options.queue_capacity);
  }
}

void StreamSet::start(const std::shared_ptr<StreamSet>& self) {
  for (std::size_t i = 0; i < kStreamCount; ++i) {
    const auto kind = static_cast<StreamKind>(i);
    self->streams_[i].thread = std::thread([self, kind] {
      name_this_thread(fmt::format("dlo-{}", stream_name(kind)));
      current_set = self.get();
      self->run(kind);
    });
  }
}

void StreamSet::stop() noexcept {
  stopping_.store(true);
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::nanoseconds(std::max<Nanoseconds>(options_.join_timeout, 0));
  for (Stream& stream : streams_) {
    std::unique_lock lock(stream.mutex);
    stream.issued_more.notify_all();
    const bool ended = stream.advanced.wait_until(lock, end, [&stream] { return stream.ended; });
    lock.unlock();
    if (ended) {
      stream.thread.join();
    } else {
      stream.thread.detach();
    }
  }
}

StreamSet::Stream& StreamSet::stream_of(StreamKind kind) {
  return streams_.at(static_cast<std::size_t>(kind));
}

const StreamSet::Stream& StreamSet::stream_of(StreamKind kind) const {
  return streams_.at(static_cast<std::size_t>(kind));
}

bool StreamSet::await_room(Stream& stream, std::unique_lock<std::mutex>& lock) {
  const Deadline deadline = Deadline::after(clock_.now(), options_.issue_timeout);
  while (stream.issued - stream.completed.load() >= stream.ring.size()) {
    if (deadline.expired(clock_.now())) {
      return false;
    }
    stream.advanced.wait_for(lock, kHostSlice);
  }
  return true;
}

template <typename Fill>
StreamPosition StreamSet::issue(StreamKind kind, OperationKind operation, const OpLabel& label,
                                Fill fill) {
  Stream& stream = stream_of(kind);
  std::unique_lock lock(stream.mutex);
  if (!await_room(stream, lock)) {
    const StreamPosition last{kind, stream.issued};
    lock.unlock();
    fail(refuse(codes::kDeadlineExceeded,
                fmt::format("the queue of the {} stream stayed full for {} s", stream_name(kind),
                            options_.issue_timeout / kSecond),
                label_text(label), "look for an operation that does not end"),
         label);
    return last;
  }
  Operation& slot = stream.ring[stream.issued % stream.ring.size()];
  slot.kind = operation;
  slot.label = label;
  fill(slot);
  const StreamPosition position{kind, ++stream.issued};
  lock.unlock();
  stream.issued_more.notify_one();
  return position;
}

StreamPosition StreamSet::issue_task(StreamKind stream, StreamTask task, const OpLabel& label) {
  return issue(stream, OperationKind::kTask, label,
               [&task](Operation& slot) { slot.task = std::move(task); });
}

StreamPosition StreamSet::issue_wait(StreamKind stream, StreamPosition target,
                                     const OpLabel& label) {
  return issue(stream, OperationKind::kWait, label,
               [target](Operation& slot) { slot.target = target; });
}

StreamPosition StreamSet::issue_copy(StreamKind stream, ByteSpan destination, ConstByteSpan source,
                                     const OpLabel& label) {
  return issue(stream, OperationKind::kCopy, label, [destination, source](Operation& slot) {
    slot.destination = destination;
    slot.source = source;
  });
}

StreamPosition StreamSet::issue_marker(StreamKind stream, const OpLabel& label) {
  return issue(stream, OperationKind::kMarker, label, [](Operation&) {});
}

void StreamSet::run(StreamKind kind) {
  Stream& stream = stream_of(kind);
  std::unique_lock lock(stream.mutex);
  while (true) {
    const auto waiting = [&stream] { return stream.issued > stream.completed.load(); };
    stream.issued_more.wait(lock, [&] { return waiting() || stopping_.load(); });
    if (!waiting()) {
      break;
    }
    Operation& operation = stream.ring[stream.completed.load() % stream.ring.size()];
    lock.unlock();
    execute(operation);
    lock.lock();
    stream.completed.fetch_add(1);
    stream.advanced.notify_all();
  }
  stream.ended = true;
  stream.advanced.notify_all();
}

void StreamSet::execute(Operation& operation) {
  const bool skip = failed_.load() || stopping_.load();
  try {
    if (operation.kind == OperationKind::kWait) {
      // Awaited after a failure too: the other stream drains, and memory stays in order. What the
      // wait targets was issued before it, so waits cannot form a circle.
      Stream& other = stream_of(operation.target.stream);
      std::unique_lock lock(other.mutex);
      other.advanced.wait(lock, [&] { return completed(operation.target); });
    } else if (operation.kind == OperationKind::kTask && !skip) {
      operation.task();
    } else if (operation.kind == OperationKind::kCopy && !skip && !operation.source.empty()) {
      std::memcpy(operation.destination.data(), operation.source.data(), operation.source.size());
    }
  } catch (...) {
    fail(thrown_refusal(std::current_exception(), label_text(operation.label)), operation.label);
  }
  operation.task.reset();
}

void StreamSet::fail(const Refusal& refusal, const OpLabel& label) {
  {
    const std::lock_guard lock(failure_mutex_);
    if (failure_) {
      return;
    }
    failure_ = refusal;
  }
  failed_.store(true);
  signal_.raise(Failure{refusal.code, options_.rank, label.block, label_text(label),
                        refusal.what + " (" + refusal.where + ")"});
}

StreamPosition StreamSet::last_issued(StreamKind stream) {
  const Stream& state = stream_of(stream);
  const std::lock_guard lock(state.mutex);
  return StreamPosition{stream, state.issued};
}

bool StreamSet::completed(StreamPosition target) const {
  return stream_of(target.stream).completed.load() >= target.position;
}

template <typename Leave>
bool StreamSet::wait_sliced(StreamPosition target, Leave leave) {
  Stream& stream = stream_of(target.stream);
  std::unique_lock lock(stream.mutex);
  while (!completed(target)) {
    lock.unlock();
    if (leave()) {
      return false;
    }
    lock.lock();
    stream.advanced.wait_for(lock, kHostSlice, [&] { return completed(target); });
  }
  return true;
}

Status StreamSet::wait_host(StreamPosition target, Deadline deadline, const OpLabel& label) {
  Status left;
  const bool done = wait_sliced(target, [&] {
    if (failed_.load()) {
      return true;
    }
    if (const auto peer = signal_.poll()) {
      left = peer->refusal();
    } else if (deadline.expired(clock_.now())) {
      left =
          refuse(codes::kDeadlineExceeded,
                 fmt::format("the {} stream did not get there in time", stream_name(target.stream)),
                 label_text(label), "raise the timeout, or look for a hung operation");
    }
    return !left.ok();
  });
  if (const auto own = failure()) {
    return *own;
  }
  return done ? Status{} : left;
}

bool StreamSet::wait_idle() noexcept {
  if (current_set == this) {
    return true;
  }
  const Deadline deadline = Deadline::after(clock_.now(), options_.join_timeout);
  bool idle = true;
  for (std::size_t i = 0; i < kStreamCount; ++i) {
    const StreamPosition target = last_issued(static_cast<StreamKind>(i));
    idle = wait_sliced(target, [&] { return deadline.expired(clock_.now()); }) && idle;
  }
  return idle;
}

Status StreamSet::synchronize(Deadline deadline) {
  const auto late = [&] { return deadline.expired(clock_.now()); };
  Status first;
  for (std::size_t i = 0; i < kStreamCount; ++i) {
    const StreamPosition target = last_issued(static_cast<StreamKind>(i));
    Status status = wait_host(target, deadline, OpLabel{Site::kDrain});
    if (!status.ok() && !late()) {
      // What runs must not touch memory that the caller frees next, nor raise its failure in the
      // run after this one: the queues are skipped, and awaited all the same.
      fail(status.refusal(), OpLabel{Site::kDrain});
      wait_sliced(target, late);
    }
    if (first.ok()) {
      first = std::move(status);
    }
  }
  return first;
}

std::optional<Refusal> StreamSet::failure() const {
  if (!failed_.load()) {
    return std::nullopt;
  }
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

}  // namespace dlo::platform
