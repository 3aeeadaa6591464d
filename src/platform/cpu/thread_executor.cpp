#include "platform/cpu/thread_executor.h"

#include <algorithm>
#include <utility>

#include "platform/posix/thread_name.h"

namespace dlo::platform {

namespace {

// The executor whose task runs on this thread, to notice calls from inside a task.
thread_local const void* running_executor = nullptr;

std::size_t resolve(std::size_t workers) {
  return workers != 0 ? workers : std::max<std::size_t>(1, std::thread::hardware_concurrency());
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
  started_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

std::size_t ThreadExecutor::worker_count() const {
  return threads_.size() + 1;
}

void ThreadExecutor::start(Batch& batch) {
  batch.books = {};
  if (batch.count == 0 || threads_.empty() || running_executor == this) {
    return;  // finish() runs what there is
  }
  {
    const std::lock_guard lock(mutex_);
    Batch** last = &first_;
    while (*last != nullptr) {
      last = &(*last)->books.later;
    }
    *last = &batch;
  }
  started_.notify_all();
}

void ThreadExecutor::finish(Batch& batch) {
  std::unique_lock lock(mutex_);
  while (batch.books.next < batch.count) {
    run_next(batch, lock);
  }
  ended_.wait(lock, [&batch] { return batch.books.done == batch.count; });
  lock.unlock();
  batch.rethrow();
}

void ThreadExecutor::work() {
  name_this_thread("dlo-worker");
  std::unique_lock lock(mutex_);
  while (true) {
    started_.wait(lock, [this] { return stopping_ || first_ != nullptr; });
    if (stopping_) {
      return;
    }
    run_next(*first_, lock);
  }
}

void ThreadExecutor::run_next(Batch& batch, std::unique_lock<std::mutex>& lock) {
  const std::size_t index = batch.books.next++;
  if (batch.books.next == batch.count) {
    take_out(batch);
  }
  const auto& task = *batch.task;
  lock.unlock();
  std::exception_ptr failed;
  const void* const outer = std::exchange(running_executor, this);
  try {
    task(index);
  } catch (...) {
    failed = std::current_exception();
  }
  running_executor = outer;
  lock.lock();
  batch.end_task(index, std::move(failed));
  if (batch.books.done == batch.count) {
    ended_.notify_all();  // from here on the batch may be gone
  }
}

void ThreadExecutor::take_out(const Batch& batch) {
  for (Batch** at = &first_; *at != nullptr; at = &(*at)->books.later) {
    if (*at == &batch) {
      *at = batch.books.later;
      return;
    }
  }
}

}  // namespace dlo::platform
