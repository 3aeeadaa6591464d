#include "comm/release_watch.h"

#include <chrono>
#include <utility>

#include "platform/posix/thread_name.h"

namespace dlo::comm {

namespace {

constexpr std::chrono::milliseconds kInterval{10};

}  // namespace

ReleaseWatch::ReleaseWatch(const FailureSignal& signal, std::function<void()> release)
    : signal_(signal), release_(std::move(release)), thread_([this] {
        platform::name_this_thread("dlo-release");
        run();
      }) {}

ReleaseWatch::~ReleaseWatch() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  woken_.notify_one();
  thread_.join();
}

void ReleaseWatch::release_now() noexcept {
  {
    const std::lock_guard lock(mutex_);
    releasing_ = true;
  }
  woken_.notify_one();
}

void ReleaseWatch::run() noexcept {
  std::unique_lock lock(mutex_);
  while (!ended_) {
    if (releasing_ || signal_.poll()) {
      releasing_ = true;
      release_();
    }
    woken_.wait_for(lock, kInterval);
  }
}

}  // namespace dlo::comm
