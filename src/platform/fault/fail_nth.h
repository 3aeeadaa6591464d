// Owns: the fail-the-n-th loop: the first call of a kind fails, then the second, until an attempt
// makes fewer calls than that. Must not own: what an attempt is, or its verdict.
// Source of the method: SQLite's testing page. Failure: an attempt that meets its fault for ever is
// a LogicError.
#pragma once

#include <optional>

#include "base/error.h"
#include "platform/fault/fault_plan.h"

namespace dlo::platform {

// A run that makes more calls of one kind than this is no unit case.
inline constexpr std::uint64_t kFailNthMax = 20000;

// Calls `attempt(plan)` for n = 1, 2, ... until it returns false: no fault struck, so the operation
// did all it does. Returns how many faults struck.
template <typename Attempt>
std::uint64_t fail_every_nth(FaultRule rule, const Attempt& attempt) {
  for (rule.nth = 1; rule.nth <= kFailNthMax; ++rule.nth) {
    FaultPlan plan;
    plan.rules.push_back(rule);
    if (!attempt(plan)) {
      return rule.nth - 1;
    }
  }
  throw LogicError("a fail-the-n-th loop that does not end");
}

}  // namespace dlo::platform
