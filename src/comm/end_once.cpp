#include "comm/end_once.h"

namespace dlo::comm {

void EndOnce::end(const std::function<void()>& how) {
  ended_.store(true);
  std::call_once(once_, how);
}

bool EndOnce::try_end(const std::function<void()>& how) {
  // Outside of the lock: a use that comes now returns at once instead of waiting for the end.
  if (!ended() && !close() && !out_of_patience()) {
    return false;
  }
  end(how);
  return true;
}

bool EndOnce::close() {
  const std::unique_lock lock(in_use_, std::try_to_lock);
  if (lock.owns_lock()) {
    ended_.store(true);
  }
  return lock.owns_lock();
}

bool EndOnce::out_of_patience() {
  const auto now = clock_.now();
  if (!trying_since_) {
    trying_since_ = now;
  }
  return now - *trying_since_ >= patience_;
}

}  // namespace dlo::comm
