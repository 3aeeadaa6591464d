// Owns: ThreadExecutor, worker threads that live as long as it does.
// Must not own: what runs on them. Threading: parallel_for may be called from any thread; calls
// from several threads take turns, a call from inside a task runs on the calling thread.
// Failure: a task's exception travels to the caller; the other tasks still run.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "platform/executor.h"

namespace dlo::platform {

class ThreadExecutor : public Executor {
 public:
  // `workers` counts the caller of parallel_for too; 0 means one per hardware thread.
  explicit ThreadExecutor(std::size_t workers);
  ~ThreadExecutor() override;
  ThreadExecutor(const ThreadExecutor&) = delete;
  ThreadExecutor& operator=(const ThreadExecutor&) = delete;

  [[nodiscard]] std::size_t worker_count() const override;
  void parallel_for(std::size_t count, const std::function<void(std::size_t)>& task) override;

 private:
  void work();
  void run_tasks(std::unique_lock<std::mutex>& lock);

  std::mutex turn_;  // held by the caller whose tasks run
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(std::size_t)>* task_ = nullptr;
  std::size_t count_ = 0;
  std::size_t next_ = 0;
  std::size_t done_ = 0;
  std::size_t failed_index_ = 0;
  std::exception_ptr failure_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace dlo::platform
