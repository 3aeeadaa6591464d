// Owns: Executor, the seam to worker threads (loading shards, packing, hashing).
// Must not own: what runs on them, or stream order (platform/device.h).
// Threading: any thread. Failure: a task's exception reaches the caller.
#pragma once

#include <cstddef>
#include <functional>

namespace dlo::platform {

class Executor {
 public:
  virtual ~Executor() = default;

  // Threads that parallel_for may use at once, the caller included; at least 1.
  [[nodiscard]] virtual std::size_t worker_count() const = 0;

  // Runs task(0) ... task(count - 1), each exactly once, in any order and on any worker, and
  // returns when all are done. If tasks throw, the exception of the lowest index is rethrown after
  // all have ended.
  virtual void parallel_for(std::size_t count, const std::function<void(std::size_t)>& task) = 0;
};

}  // namespace dlo::platform
