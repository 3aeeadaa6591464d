#include "platform/cuda/host_tasks.h"

#include <utility>

#include "base/error.h"
#include "platform/posix/sigbus_guard.h"

namespace dlo::platform {

cudaError_t HostTasks::issue(cudaStream_t stream, StreamTask task, const OpLabel& label) {
  Row& row = rows_[next_];
  require(!row.busy.load(), "host tasks: no room");
  row.owner = this;
  row.task = std::move(task);
  row.label = label;
  row.busy.store(true);
  const cudaError_t status = cudaLaunchHostFunc(stream, &HostTasks::run, &row);
  if (status != cudaSuccess) {
    row.busy.store(false);
    return status;
  }
  next_ = (next_ + 1) % kRows;
  return cudaSuccess;
}

void HostTasks::run(void* data) {
  Row& row = *static_cast<Row*>(data);
  admit_sigbus();  // a task may read mapped files; how CUDA's threads mask signals is unknown
  try {
    if (!row.owner->skip_()) {
      row.task();
    }
  } catch (...) {
    row.owner->on_error_(std::current_exception(), row.label);
  }
  row.task.reset();
  row.busy.store(false);
}

}  // namespace dlo::platform
