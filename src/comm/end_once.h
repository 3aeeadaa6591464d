// Owns: EndOnce, which lets one thread use a handle (an NCCL communicator) while another may end it
// at any moment: the end frees the handle, so it keeps clear of the use, happens exactly once, and
// nothing is used behind it. But a use may itself be what the end must end: a call into a driver's
// full queue behind a kernel that waits for a dead peer. So who ends from outside tries for a while
// and then does not wait for the user any more.
// Must not own: the handle, what using or ending it means, a thread. Threading: use() and end() by
// the thread that uses; try_end() by one other, again and again. Failure: none of its own; what
// ends must come back by itself, for everybody who ends waits for it.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>

#include "platform/clock.h"

namespace dlo::comm {

class EndOnce {
 public:
  // `clock` outlives the object. `patience`: how long try_end() leaves a use alone.
  EndOnce(platform::Clock& clock, Nanoseconds patience) : clock_(clock), patience_(patience) {}
  EndOnce(const EndOnce&) = delete;
  EndOnce& operator=(const EndOnce&) = delete;

  // Calls `call` unless the end has begun. False when it had, or has begun meanwhile: what the call
  // has left is void then. What `call` throws passes through.
  template <typename Call>
  [[nodiscard]] bool use(const Call& call) {
    const std::lock_guard lock(in_use_);
    if (ended()) {
      return false;
    }
    call();
    return !ended();
  }

  // Calls `how`, which must not throw, unless it was ended before. Returns behind the end, whoever
  // began it.
  void end(const std::function<void()>& how);
  // The same from another thread, but while a use is under way it only returns, until `patience`
  // has passed since it first met one. True once it has ended.
  bool try_end(const std::function<void()>& how);

  // The end has begun.
  [[nodiscard]] bool ended() const { return ended_.load(); }

 private:
  // True when no use is under way and none will be.
  bool close();
  [[nodiscard]] bool out_of_patience();

  platform::Clock& clock_;
  Nanoseconds patience_;
  std::mutex in_use_;
  std::atomic<bool> ended_{false};
  std::once_flag once_;
  std::optional<Nanoseconds> trying_since_;  // try_end()'s own
};

}  // namespace dlo::comm
