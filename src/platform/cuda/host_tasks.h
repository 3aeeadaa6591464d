// Owns: HostTasks, the tasks that wait inside CUDA streams as host functions: a fixed ring, so that
// issuing one allocates nothing.
// Must not own: streams. Threading: issued by the launching thread; run on CUDA's own threads,
// where nothing of CUDA may be called. Failure: a task's exception goes to `on_error`, any thread.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <exception>
#include <functional>
#include <utility>

#include "platform/device.h"

namespace dlo::platform {

class HostTasks {
 public:
  // How many may wait: chunks of a few blocks of several gigabytes, each with a task.
  static constexpr std::size_t kRows = 2048;

  // Both are called on a thread of CUDA's. While `skip` says so, tasks are dropped unrun.
  using OnError = std::function<void(const std::exception_ptr&, const OpLabel&)>;
  using Skip = std::function<bool()>;

  HostTasks(OnError on_error, Skip skip) : on_error_(std::move(on_error)), skip_(std::move(skip)) {}
  HostTasks(const HostTasks&) = delete;
  HostTasks& operator=(const HostTasks&) = delete;

  // True when issue() has room; it frees up as tasks run.
  [[nodiscard]] bool has_room() const { return !rows_[next_].busy.load(); }
  // Precondition: has_room(). The caller checks the status.
  [[nodiscard]] cudaError_t issue(cudaStream_t stream, StreamTask task, const OpLabel& label);

 private:
  struct Row {
    std::atomic<bool> busy{false};
    HostTasks* owner = nullptr;
    StreamTask task;
    OpLabel label;
  };

  static void run(void* row);

  OnError on_error_;
  Skip skip_;
  std::array<Row, kRows> rows_;
  std::size_t next_ = 0;
};

}  // namespace dlo::platform
