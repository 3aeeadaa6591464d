// Owns: ThreadExecutor, worker threads that live as long as it does.
// Must not own: what runs on them. Threading: batches may be started and finished by any thread;
// workers take them in the order of their start, whoever finishes one helps with that one alone. A
// batch that is started inside a task (parallel_for() too) runs on the thread that finishes it.
// Starting and finishing allocates nothing. The workers' name is "dlo-worker".
// Failure: a task's exception travels to whoever finishes its batch; the other tasks still run.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "platform/executor.h"

namespace dlo::platform {

class ThreadExecutor : public Executor {
 public:
  // `workers` counts the thread that finishes a batch too; 0 means one per hardware thread.
  explicit ThreadExecutor(std::size_t workers);
  // Precondition: every batch that was started is finished.
  ~ThreadExecutor() override;
  ThreadExecutor(const ThreadExecutor&) = delete;
  ThreadExecutor& operator=(const ThreadExecutor&) = delete;

  [[nodiscard]] std::size_t worker_count() const override;
  void start(Batch& batch) override;
  void finish(Batch& batch) override;

 private:
  void work();
  // Precondition: a task of the batch is left, the lock is held; it is given up for the task alone.
  void run_next(Batch& batch, std::unique_lock<std::mutex>& lock);
  // All tasks of the batch are taken: no worker finds it any more.
  void take_out(const Batch& batch);

  std::mutex mutex_;
  std::condition_variable started_;  // for workers
  std::condition_variable ended_;    // for those who finish
  Batch* first_ = nullptr;           // of the batches that have tasks for the workers
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace dlo::platform
