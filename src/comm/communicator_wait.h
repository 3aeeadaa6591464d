// Owns: WaitRules, what every wait for other ranks asks between two looks: did a peer fail, is the
// deadline over, and who is missing. Shared by the threads and MPI worlds.
// Must not own: the waiting itself. Threading: a value, used by the waiting thread.
// Failure: a refusal that this rank finds first is raised on its signal before it is returned, so
// that peers name the cause and not its consequence.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "comm/failure_board.h"
#include "platform/clock.h"

namespace dlo::comm {

struct WaitRules {
  BoardSignal* signal = nullptr;
  platform::Clock* clock = nullptr;
  int rank = 0;                // world rank, for failures raised here
  std::string_view operation;  // "gather", "vote", ...
  int block = -1;
  Deadline deadline;
  // The world's control exchanges are the way back after a failure: there only a vanished member
  // ends a wait early, and nothing is raised.
  bool through_failures = false;
  const std::vector<int>* members = nullptr;  // world ranks of the group

  // A failure that ends the wait. Allocates only when there is one.
  [[nodiscard]] std::optional<Refusal> failure() const;
  [[nodiscard]] bool expired() const { return deadline.expired(clock->now()); }
  // What to leave with when expired; `missing` names the ranks that have not come, if known.
  [[nodiscard]] Refusal timed_out(std::string_view missing) const;
  // Raises `refusal` unless `through_failures`; returns what stands then: this or an earlier one.
  [[nodiscard]] Refusal raised(const Refusal& refusal) const;

 private:
  [[nodiscard]] std::optional<Refusal> vanished_member() const;
};

}  // namespace dlo::comm
