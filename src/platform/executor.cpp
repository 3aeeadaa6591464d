#include "platform/executor.h"

#include <utility>

namespace dlo::platform {

void Batch::end_task(std::size_t index, std::exception_ptr failed) noexcept {
  if (failed && (!books.failure || index < books.failed_index)) {
    books.failure = std::move(failed);
    books.failed_index = index;
  }
  ++books.done;
}

void Batch::run_below(std::size_t end) noexcept {
  while (books.next < end) {
    const std::size_t index = books.next++;
    std::exception_ptr failed;
    try {
      (*task)(index);
    } catch (...) {
      failed = std::current_exception();
    }
    end_task(index, std::move(failed));
  }
}

void Batch::rethrow() {
  if (books.failure) {
    std::rethrow_exception(std::exchange(books.failure, nullptr));
  }
}

void Executor::parallel_for(std::size_t count, const std::function<void(std::size_t)>& task) {
  Batch batch{&task, count, {}};
  start(batch);
  finish(batch);
}

}  // namespace dlo::platform
