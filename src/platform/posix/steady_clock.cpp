#include "platform/posix/steady_clock.h"

#include <array>
#include <cerrno>
#include <ctime>

namespace dlo::platform {

Nanoseconds SteadyClock::now() const {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

void SteadyClock::sleep(Nanoseconds duration) {
  if (duration <= 0) {
    return;
  }
  // An absolute end: signals (the watchdog's, MPI's) neither shorten nor stretch the sleep.
  const Nanoseconds end = Deadline::after(now(), duration).at;
  const timespec time{end / kSecond, end % kSecond};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) {
  }
}

std::string SteadyClock::wall_time_text() const {
  const std::time_t seconds = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return std::string(text.data(), length);
}

}  // namespace dlo::platform
