// Owns: Executor, the seam to worker threads (loading shards, packing, hashing), and Batch, tasks
// that were handed to one.
// Must not own: what runs on them, or stream order (platform/device.h).
// Threading: any thread; a batch is finished by one thread at a time, behind its start. Failure: a
// task's exception reaches whoever finishes its batch. What a call allocates, and where a batch
// runs that is started inside a task, each executor says.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>

namespace dlo::platform {

// Tasks task(0) ... task(count - 1). Lies with the caller, so that nothing is allocated, and stays
// where it is from start() until finish() has returned; the task outlives it.
struct Batch {
  const std::function<void(std::size_t)>* task = nullptr;
  std::size_t count = 0;

  // The executor's own, from start() on; made anew by it.
  struct Books {
    std::size_t next = 0;  // of the tasks, the first that nobody took
    std::size_t done = 0;
    std::size_t failed_index = 0;  // the lowest of those that threw
    std::exception_ptr failure;
    Batch* later = nullptr;  // started behind this one
  };
  Books books;

  // Books of task `index`, which was taken: it ended, with an exception or none.
  void end_task(std::size_t index, std::exception_ptr failed) noexcept;
  // Takes the tasks below `end` that nobody took, in their order, on the calling thread.
  void run_below(std::size_t end) noexcept;
  // Throws what the task of the lowest index threw, if any did.
  void rethrow();
};

class Executor {
 public:
  virtual ~Executor() = default;

  // Threads that may run tasks of a batch at once, the one that finishes it included; at least 1.
  [[nodiscard]] virtual std::size_t worker_count() const = 0;

  // Lets the workers begin with the batch, behind those that were started earlier, and returns
  // without waiting; an executor without other threads may leave it all to finish(). When it
  // throws, the batch was not started.
  virtual void start(Batch& batch) = 0;
  // Helps with a batch that was started, and returns when each of its tasks has run exactly once,
  // in any order and on any worker. If tasks threw, the exception of the lowest index is rethrown,
  // after all have ended.
  virtual void finish(Batch& batch) = 0;

  // Starts and finishes a batch of `count` tasks.
  void parallel_for(std::size_t count, const std::function<void(std::size_t)>& task);
};

}  // namespace dlo::platform
