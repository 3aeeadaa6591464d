// Owns: Clock, the seam to time. Real on the CPU and CUDA platforms, virtual in the simulator.
// Must not own: policy about how long to wait; callers hold Deadlines.
// Threading: any thread. Failure: none.
#pragma once

#include <string>

#include "base/deadline.h"

namespace dlo::platform {

class Clock {
 public:
  virtual ~Clock() = default;

  // Monotonic.
  [[nodiscard]] virtual Nanoseconds now() const = 0;

  // Gives up the processor for about `duration`; in the simulator other ranks run meanwhile.
  virtual void sleep(Nanoseconds duration) = 0;

  // UTC wall time, "2026-01-31T12:00:00Z", for reports only.
  [[nodiscard]] virtual std::string wall_time_text() const = 0;
};

}  // namespace dlo::platform
