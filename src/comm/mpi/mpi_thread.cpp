#include "comm/mpi/mpi_thread.h"

#include <fmt/format.h>
#include <mpi.h>

#include <chrono>
#include <exception>
#include <optional>

#include "base/codes.h"
#include "base/thrown_refusal.h"
#include "comm/mpi/mpi_error.h"
#include "platform/posix/thread_name.h"

namespace dlo::comm {

namespace {

constexpr std::size_t kOperationsMax = 256;
constexpr std::chrono::milliseconds kIdleSlice{50};
// Yielding first keeps short exchanges short; then the processor goes to those who compute.
constexpr unsigned kYieldingLooks = 50;
constexpr Nanoseconds kSleep = 30 * kMicrosecond;

class CallOperation : public MpiOperation {
 public:
  CallOperation(std::string_view name, std::function<void()> function)
      : name_(name), function_(std::move(function)) {}

  Progress progress() override {
    try {
      function_();
    } catch (...) {
      status_ = thrown_refusal(std::current_exception(), name_);
    }
    function_ = nullptr;
    return Progress::kDone;
  }
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  std::string name_;
  std::function<void()> function_;
  Status status_;
};

Refusal stuck_refusal(std::string_view name) {
  return refuse(codes::kDeadlineExceeded, fmt::format("{} did not return in time", name), "MPI",
                "check that all ranks started, and the network between the nodes");
}

}  // namespace

bool MpiOperation::await(Deadline end, platform::Clock& clock, const std::function<void()>& tick) {
  std::unique_lock lock(mutex_);
  while (!finished_cv_.wait_for(lock, kIdleSlice, [this] { return finished_; })) {
    lock.unlock();
    tick();
    const bool late = end.expired(clock.now());
    lock.lock();
    if (late && !finished_) {
      return false;
    }
  }
  return true;
}

void MpiOperation::rearm() {
  const std::lock_guard lock(mutex_);
  finished_ = false;
}

void MpiOperation::finish() {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  finished_cv_.notify_all();
}

MpiThread::MpiThread(platform::Clock& clock) : clock_(clock) {
  inbox_.reserve(kOperationsMax);
  active_.reserve(kOperationsMax);
}

MpiThread::~MpiThread() = default;

Result<std::shared_ptr<MpiThread>> MpiThread::start(int* argc, char*** argv, Deadline deadline,
                                                    platform::Clock& clock) {
  const std::shared_ptr<MpiThread> self(new MpiThread(clock));
  const auto begin = std::make_shared<CallOperation>(
      "MPI_Init_thread", [thread = self.get(), argc, argv] { thread->initialise(argc, argv); });
  self->inbox_.push_back(begin);
  // Detached, for inside MPI it may be stuck for ever; it shares the ownership of its state.
  std::thread([self] {
    platform::name_this_thread("dlo-mpi");
    self->run();
  }).detach();
  if (!begin->await(deadline, clock, [] {})) {
    return stuck_refusal("MPI_Init_thread");
  }
  if (!begin->status().ok()) {
    return begin->status().refusal();
  }
  return self;
}

void MpiThread::initialise(int* argc, char*** argv) {
  int initialised = 0;
  check_mpi("MPI_Initialized", MPI_Initialized(&initialised));
  int provided = MPI_THREAD_SINGLE;
  if (initialised != 0) {
    adopted_ = true;
    check_mpi("MPI_Query_thread", MPI_Query_thread(&provided));
    if (provided < MPI_THREAD_MULTIPLE) {
      throw RunError(refuse(codes::kInternal, "MPI was initialised without MPI_THREAD_MULTIPLE",
                            "MPI", "let the MPI world initialise MPI"));
    }
  } else {
    check_mpi("MPI_Init_thread", MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided));
  }
  check_mpi("MPI_Comm_set_errhandler", MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  check_mpi("MPI_Comm_rank", MPI_Comm_rank(MPI_COMM_WORLD, &rank_));
  check_mpi("MPI_Comm_size", MPI_Comm_size(MPI_COMM_WORLD, &size_));
}

void MpiThread::submit(std::shared_ptr<MpiOperation> operation) {
  {
    const std::lock_guard lock(mutex_);
    inbox_.push_back(std::move(operation));
  }
  changed_.notify_all();
}

Status MpiThread::call(std::string_view name, std::function<void()> function, Deadline deadline) {
  const auto operation = std::make_shared<CallOperation>(name, std::move(function));
  submit(operation);
  if (!operation->await(deadline, clock_, [this] { tick(); })) {
    mark_broken();
    return stuck_refusal(name);
  }
  return operation->status();
}

void MpiThread::post(std::function<void()> function) {
  submit(std::make_shared<CallOperation>("release", std::move(function)));
}

void MpiThread::set_tick(std::function<void()> tick) {
  const std::lock_guard lock(mutex_);
  tick_ = std::move(tick);
}

void MpiThread::tick() {
  const std::lock_guard lock(mutex_);
  if (tick_) {
    tick_();
  }
}

bool MpiThread::stop(Deadline deadline) {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
  while (!ended_ && !deadline.expired(clock_.now())) {
    changed_.wait_for(lock, kIdleSlice, [this] { return ended_; });
  }
  return ended_;
}

void MpiThread::take_inbox() {
  for (auto& operation : inbox_) {
    active_.push_back(std::move(operation));
    idle_looks_ = 0;
  }
  inbox_.clear();
}

void MpiThread::look_at_all() {
  for (std::size_t i = 0; i < active_.size();) {
    const Progress progress = active_[i]->progress();
    if (progress == Progress::kPending) {
      ++i;
      continue;
    }
    // Out of the list first: once finished, its owner may hand it in again.
    const std::shared_ptr<MpiOperation> operation = std::move(active_[i]);
    active_[i] = std::move(active_.back());
    active_.pop_back();
    if (progress == Progress::kAbandoned) {
      abandoned_.push_back(operation);
    }
    idle_looks_ = 0;
    operation->finish();
  }
}

void MpiThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    take_inbox();
    if (active_.empty()) {
      if (stopping_) {
        break;
      }
      lock.unlock();
      tick();
      lock.lock();
      changed_.wait_for(lock, kIdleSlice, [this] { return stopping_ || !inbox_.empty(); });
      continue;
    }
    lock.unlock();
    look_at_all();
    tick();
    if (!active_.empty()) {
      if (++idle_looks_ < kYieldingLooks) {
        std::this_thread::yield();
      } else {
        clock_.sleep(kSleep);
      }
    }
    lock.lock();
  }
  ended_ = true;
  changed_.notify_all();
  // MPI may still write to what was abandoned: this thread keeps it until the process ends.
  changed_.wait(lock, [this] { return abandoned_.empty(); });
}

}  // namespace dlo::comm
