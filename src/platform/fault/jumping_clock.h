// Owns: JumpingClock, a clock that jumps forward when a FaultPlan's rule strikes its reading: what
// a suspended machine or a stepped clock looks like to deadlines. Must not own: the plan or its
// counters. Threading: any thread.
#pragma once

#include <atomic>

#include "platform/clock.h"
#include "platform/fault/fault_plan.h"

namespace dlo::platform {

// Further than any deadline of a run.
inline constexpr Nanoseconds kClockJump = 3600 * kSecond;

class JumpingClock : public Clock {
 public:
  // `inner` and `injector` outlive the clock.
  JumpingClock(Clock& inner, FaultInjector& injector) : inner_(&inner), injector_(&injector) {}

  [[nodiscard]] Nanoseconds now() const override {
    if (injector_->strike(SeamCall::kClock, "now")) {
      ahead_.fetch_add(kClockJump);
    }
    return inner_->now() + ahead_.load();
  }
  void sleep(Nanoseconds duration) override { inner_->sleep(duration); }
  [[nodiscard]] std::string wall_time_text() const override { return inner_->wall_time_text(); }
  // By how much it is ahead of the clock below.
  [[nodiscard]] Nanoseconds ahead() const { return ahead_.load(); }

 private:
  Clock* inner_;
  FaultInjector* injector_;
  mutable std::atomic<Nanoseconds> ahead_{0};  // a reading is where the jump is noticed
};

}  // namespace dlo::platform
