#include "platform/cpu/thread_executor.h"

#include <algorithm>
#include <utility>

namespace dlo::platform {

namespace {

// The executor whose task runs on this thread, to notice calls from inside a task.
thread_local const void* running_executor = nullptr;

std::size_t resolve(std::size_t workers) {
  return workers != 0 ? workers : std::max<std::size_t>(1, std::thread::hardware_concurrency());
}

void run_inline(std::size_t count, const std::function<void(std::size_t)>& task) {
  std::exception_ptr failure;
  for (std::size_t i = 0; i < count; ++i) {
    try {
      task(i);
    } catch (...) {
      failure = failure ? failure : std::current_exception();
    }
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

}  // namespace

ThreadExecutor::ThreadExecutor(std::size_t workers) {
  const std::size_t threads = resolve(workers) - 1;
  threads_.reserve(threads);
  for (std::size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { work(); });
  }
}

ThreadExecutor::~ThreadExecutor() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

std::size_t ThreadExecutor::worker_count() const {
  return threads_.size() + 1;
}

void ThreadExecutor::parallel_for(std::size_t count, const std::function<void(std::size_t)>& task) {
  if (running_executor == this || threads_.empty()) {
    run_inline(count, task);
    return;
  }
  const std::lock_guard turn(turn_);
  std::unique_lock lock(mutex_);
  task_ = &task;
  count_ = count;
  next_ = 0;
  done_ = 0;
  failure_ = nullptr;
  changed_.notify_all();
  run_tasks(lock);
  changed_.wait(lock, [this] { return done_ == count_; });
  task_ = nullptr;
  if (failure_) {
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

void ThreadExecutor::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || (task_ != nullptr && next_ < count_); });
    if (stopping_) {
      return;
    }
    run_tasks(lock);
  }
}

void ThreadExecutor::run_tasks(std::unique_lock<std::mutex>& lock) {
  while (task_ != nullptr && next_ < count_) {
    const std::size_t index = next_++;
    const auto& task = *task_;
    lock.unlock();
    std::exception_ptr failure;
    const void* const outer = std::exchange(running_executor, this);
    try {
      task(index);
    } catch (...) {
      failure = std::current_exception();
    }
    running_executor = outer;
    lock.lock();
    if (failure && (!failure_ || index < failed_index_)) {
      failure_ = failure;
      failed_index_ = index;
    }
    if (++done_ == count_) {
      changed_.notify_all();
    }
  }
}

}  // namespace dlo::platform
