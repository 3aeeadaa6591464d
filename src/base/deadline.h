// Owns: Nanoseconds, points in time of a platform::Clock, and Deadline, the bound of every wait.
// Must not own: a clock. Callers pass "now" from the clock of their platform, so that the same
// code waits on virtual time in the simulator.
#pragma once

#include <cstdint>
#include <limits>

namespace dlo {

// Durations and points on a platform clock's monotonic axis.
using Nanoseconds = std::int64_t;

inline constexpr Nanoseconds kMicrosecond = 1'000;
inline constexpr Nanoseconds kMillisecond = 1'000'000;
inline constexpr Nanoseconds kSecond = 1'000'000'000;

// A point on the clock after which a wait ends with deadline_exceeded.
struct Deadline {
  Nanoseconds at = std::numeric_limits<Nanoseconds>::max();

  [[nodiscard]] static constexpr Deadline after(Nanoseconds now, Nanoseconds timeout) {
    using Limits = std::numeric_limits<Nanoseconds>;
    Nanoseconds at = 0;
    if (__builtin_add_overflow(now, timeout, &at)) {
      at = timeout > 0 ? Limits::max() : Limits::min();
    }
    return Deadline{at};
  }
  [[nodiscard]] constexpr bool expired(Nanoseconds now) const { return now >= at; }
  [[nodiscard]] constexpr Nanoseconds remaining(Nanoseconds now) const {
    return expired(now) ? 0 : at - now;
  }
};

}  // namespace dlo
