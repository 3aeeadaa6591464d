// Owns: the cut of a window of a rank's timeline by what its compute does or lacks.
// Must not own: the simulation, or what is done with the shares. Pure functions over traces.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "platform/sim/sim_device.h"

namespace dlo::engine {

struct Window {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
};

// Time that `stream` runs something inside `window`. `trace` is of one rank.
[[nodiscard]] Nanoseconds busy_time(const std::vector<platform::sim::SimTraceRow>& trace,
                                    platform::StreamKind stream, const Window& window);

// Sums to the window's length.
struct WaveCut {
  Nanoseconds compute = 0;  // compute runs
  Nanoseconds copy = 0;     // compute is idle while copies run
  Nanoseconds comm = 0;     // compute is idle while gathers run
  Nanoseconds nothing = 0;  // nothing runs: the host is behind
};

// Where compute is idle while both run, the time is `first`'s (kCopy or kComm).
[[nodiscard]] WaveCut cut_wave(const std::vector<platform::sim::SimTraceRow>& trace,
                               platform::StreamKind first, const Window& window);

}  // namespace dlo::engine
