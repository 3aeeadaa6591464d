// Owns: the one thread of a process that makes MPI calls, from MPI_Init_thread to MPI_Finalize, and
// the operations that it drives: each is looked at in turn, with a short sleep while none moves.
// Must not own: what operations exchange. No MPI type appears here.
// Threading: every function from any thread. Handing in an operation allocates nothing.
// Failure: a caller never waits longer than its deadline; when the thread itself is stuck inside
// MPI the callers time out and the thread is left to itself.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "platform/clock.h"

namespace dlo::comm {

// What an operation said when it was looked at.
enum class Progress : std::uint8_t {
  kPending,
  kDone,
  kAbandoned,  // over for its caller, but MPI may still use its buffers: it is kept for ever
};

class MpiOperation {
 public:
  virtual ~MpiOperation() = default;

  // On the MPI thread only. Never blocks.
  [[nodiscard]] virtual Progress progress() = 0;

  // Waits until the MPI thread is through with it; false when that took beyond `end`. `tick` is
  // called now and then.
  [[nodiscard]] bool await(Deadline end, platform::Clock& clock, const std::function<void()>& tick);
  // Before it is handed in again.
  void rearm();
  void finish();

 private:
  std::mutex mutex_;
  std::condition_variable finished_cv_;
  bool finished_ = false;
};

class MpiThread {
 public:
  // Initialises MPI on the new thread, or joins an MPI that is initialised already with
  // MPI_THREAD_MULTIPLE. Codes: deadline_exceeded, collective_failed.
  [[nodiscard]] static Result<std::shared_ptr<MpiThread>> start(int* argc, char*** argv,
                                                                Deadline deadline,
                                                                platform::Clock& clock);
  ~MpiThread();
  MpiThread(const MpiThread&) = delete;
  MpiThread& operator=(const MpiThread&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  // MPI was initialised by others, who also finalise it.
  [[nodiscard]] bool adopted() const { return adopted_; }

  void submit(std::shared_ptr<MpiOperation> operation);
  // Runs `function` on the MPI thread and waits for it; what it throws becomes the refusal. For
  // set-up: allocates. `name` is for the message of deadline_exceeded.
  [[nodiscard]] Status call(std::string_view name, std::function<void()> function,
                            Deadline deadline);
  // As call, without waiting: for releases.
  void post(std::function<void()> function);
  // Called from time to time on the MPI thread and by waiting callers.
  void set_tick(std::function<void()> tick);
  void tick();

  // A collective was abandoned: MPI must not be finalised any more.
  [[nodiscard]] bool broken() const { return broken_.load(); }
  void mark_broken() { broken_.store(true); }
  // Ends the thread once nothing is in progress; false when it does not end in time.
  bool stop(Deadline deadline);

 private:
  explicit MpiThread(platform::Clock& clock);
  void initialise(int* argc, char*** argv);
  void run();
  void take_inbox();
  void look_at_all();

  platform::Clock& clock_;
  int rank_ = 0;
  int size_ = 1;
  bool adopted_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<MpiOperation>> inbox_;
  std::function<void()> tick_;
  bool stopping_ = false;
  bool ended_ = false;
  std::atomic<bool> broken_{false};

  // The MPI thread's own.
  std::vector<std::shared_ptr<MpiOperation>> active_;
  std::vector<std::shared_ptr<MpiOperation>> abandoned_;
  unsigned idle_looks_ = 0;
};

}  // namespace dlo::comm
