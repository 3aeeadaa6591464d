#include "engine/lent_tensors.h"

#include <mutex>
#include <utility>
#include <vector>

namespace dlo::engine {

void leave_to_process(std::shared_ptr<const void> kept) noexcept {
  static std::mutex mutex;
  // Never destroyed: at the end of the process a stream may still read.
  static auto& list = *new std::vector<std::shared_ptr<const void>>;
  const std::lock_guard lock(mutex);
  try {
    list.emplace_back();
  } catch (const std::exception&) {
    return;  // without memory for the list there is no way to keep it
  }
  list.back() = std::move(kept);
}

}  // namespace dlo::engine
