// Owns: SteadyClock, the real Clock: CLOCK_MONOTONIC, so points in time of the processes of one
// node lie on one axis.
// Must not own: deadlines or policy. Threading: stateless, any thread. Failure: none.
#pragma once

#include "platform/clock.h"

namespace dlo::platform {

class SteadyClock : public Clock {
 public:
  [[nodiscard]] Nanoseconds now() const override;
  void sleep(Nanoseconds duration) override;
  [[nodiscard]] std::string wall_time_text() const override;
};

}  // namespace dlo::platform
