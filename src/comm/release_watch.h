// Owns: ReleaseWatch, a thread that lets go of what a dead peer holds up: once the failure signal
// stands it calls a release again and again, until it is destroyed. The launching thread cannot be
// relied on for that: it may itself be held up inside a driver's call that waits for the stream
// which waits for the peer. Again and again, because a write that a peer has queued may undo one.
// Must not own: what is released. Threading: made and destroyed by one thread; the release runs on
// the watch's own, and the destructor waits for it: it must come back by itself. Failure: a release
// that throws ends the process.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "base/failure_signal.h"

namespace dlo::comm {

class ReleaseWatch {
 public:
  // `signal` and what `release` uses outlive the watch.
  ReleaseWatch(const FailureSignal& signal, std::function<void()> release);
  ~ReleaseWatch();  // no release runs behind it
  ReleaseWatch(const ReleaseWatch&) = delete;
  ReleaseWatch& operator=(const ReleaseWatch&) = delete;

  // Releases from now on, whatever the signal says.
  void release_now() noexcept;

 private:
  void run() noexcept;

  const FailureSignal& signal_;
  std::function<void()> release_;
  std::mutex mutex_;
  std::condition_variable woken_;
  bool releasing_ = false;
  bool ended_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace dlo::comm
