// Owns: the four stream threads of a CPU device, their queues, the order between them, and the
// device's sticky failure.
// Order: every operation has a position in its stream, counted from 1. An event is the position of
// its latest record, a wait holds the position that the event had when the wait was issued, and
// is over once that stream has completed it. Recording again later cannot confuse it.
// Must not own: memory or events. Threading: issuing from one thread; the rest from any thread.
// Failure: an exception of an operation is kept as the first refusal and raised on the rank's
// FailureSignal; what is queued behind is skipped, positions still complete.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/failure_signal.h"
#include "platform/clock.h"
#include "platform/cpu/cpu_device.h"
#include "platform/device.h"

namespace dlo::platform {

struct StreamPosition {
  StreamKind stream = StreamKind::kCompute;
  std::uint64_t position = 0;  // 0: before everything
};

class StreamSet {
 public:
  StreamSet(const CpuDeviceOptions& options, Clock& clock, FailureSignal& signal);
  // Starts the threads; they keep `self` alive.
  static void start(const std::shared_ptr<StreamSet>& self);
  // Skips what is queued and ends the threads, bounded by options.join_timeout.
  void stop() noexcept;

  // Each returns its position. On a queue that stays full the device fails and position is that of
  // the last operation issued.
  StreamPosition issue_task(StreamKind stream, StreamTask task, const OpLabel& label);
  StreamPosition issue_wait(StreamKind stream, StreamPosition target, const OpLabel& label);
  StreamPosition issue_copy(StreamKind stream, ByteSpan destination, ConstByteSpan source,
                            const OpLabel& label);
  StreamPosition issue_marker(StreamKind stream, const OpLabel& label);

  [[nodiscard]] StreamPosition last_issued(StreamKind stream);
  [[nodiscard]] bool completed(StreamPosition target) const;
  // Device failure, else completion, else a peer's failure, else deadline_exceeded.
  [[nodiscard]] Status wait_host(StreamPosition target, Deadline deadline, const OpLabel& label);
  // Completion only, in spite of failures: what frees memory asks here. False when it took longer
  // than options.join_timeout. True at once on a stream thread, which cannot wait for itself.
  [[nodiscard]] bool wait_idle() noexcept;
  // As wait_host for everything issued. A peer's failure fails the device here; after a failure
  // the queues are still awaited.
  [[nodiscard]] Status synchronize(Deadline deadline);

  [[nodiscard]] std::optional<Refusal> failure() const;

 private:
  enum class OperationKind : std::uint8_t { kMarker, kTask, kWait, kCopy };

  struct Operation {
    OperationKind kind = OperationKind::kMarker;
    OpLabel label;
    StreamTask task;
    StreamPosition target;
    ByteSpan destination;
    ConstByteSpan source;
  };

  struct Stream {
    mutable std::mutex mutex;
    std::condition_variable issued_more;
    std::condition_variable advanced;
    std::vector<Operation> ring;
    std::uint64_t issued = 0;                 // guarded by mutex
    std::atomic<std::uint64_t> completed{0};  // written under mutex
    bool ended = false;                       // guarded by mutex
    std::thread thread;
  };

  [[nodiscard]] Stream& stream_of(StreamKind kind);
  [[nodiscard]] const Stream& stream_of(StreamKind kind) const;
  template <typename Fill>
  StreamPosition issue(StreamKind kind, OperationKind operation, const OpLabel& label, Fill fill);
  [[nodiscard]] bool await_room(Stream& stream, std::unique_lock<std::mutex>& lock);
  void run(StreamKind kind);
  void execute(Operation& operation);
  void fail(const Refusal& refusal, const OpLabel& label);
  // Waits for completion in slices; between slices `leave` may end it. False: it was left.
  template <typename Leave>
  bool wait_sliced(StreamPosition target, Leave leave);

  const CpuDeviceOptions options_;
  Clock& clock_;
  FailureSignal& signal_;
  std::array<Stream, kStreamCount> streams_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> failed_{false};
  mutable std::mutex failure_mutex_;
  std::optional<Refusal> failure_;
};

}  // namespace dlo::platform
