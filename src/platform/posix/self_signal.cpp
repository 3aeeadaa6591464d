#include "platform/posix/self_signal.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "base/codes.h"
#include "base/error.h"

namespace dlo::platform {

namespace {

int number_of(SelfSignal signal) {
  return signal == SelfSignal::kKill ? SIGKILL : SIGSTOP;
}

}  // namespace

void signal_self(SelfSignal signal) {
  if (::kill(::getpid(), number_of(signal)) != 0) {
    throw SystemError(codes::kInternal, "kill of this process failed", errno);
  }
}

void signal_self_after(SelfSignal signal, Nanoseconds delay) {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = number_of(signal);
  timer_t timer{};
  if (::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) {
    throw SystemError(codes::kInternal, "timer_create failed", errno);
  }
  // A value of zero would disarm the timer.
  const Nanoseconds after = delay > 0 ? delay : 1;
  const itimerspec once{.it_interval = {}, .it_value = {after / kSecond, after % kSecond}};
  if (::timer_settime(timer, 0, &once, nullptr) != 0) {
    throw SystemError(codes::kInternal, "timer_settime failed", errno);
  }
}

}  // namespace dlo::platform
