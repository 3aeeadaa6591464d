// Owns: FaultSummary, how runs with injected faults ended, and at which call sites which codes were
// injected. Must not own: the loops (fault_loop.h, file_fault_loop.h) or the oracles.
// Pure values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/simulation/simulated_run.h"

namespace dlo::engine {

// Of one call site.
struct SiteCoverage {
  std::uint64_t reached = 0;                      // runs that made such a call
  std::map<std::string, std::uint64_t> injected;  // faults, by code
};

struct FaultSummary {
  std::uint64_t injected = 0;
  std::uint64_t survived = 0;       // every rank finished with the right bytes
  std::uint64_t ended_by_name = 0;  // every rank that did not finish said the fault's code
  std::uint64_t abandoned = 0;  // of these: a rank gave up buffers under a busy stream, on purpose
  std::uint64_t hung = 0;
  std::uint64_t different_bytes = 0;
  std::uint64_t leaked = 0;
  std::uint64_t otherwise_wrong = 0;
  std::vector<std::string> first_problems;    // at most 5, with the case, call and rank
  std::map<std::string, SiteCoverage> sites;  // known ones and those that were met

  FaultSummary();
  [[nodiscard]] bool clean() const {
    return hung + different_bytes + leaked + otherwise_wrong == 0;
  }
  // Known call sites at which no fault was injected, by name.
  [[nodiscard]] std::vector<std::string> uncovered() const;
  // Sites that were met and stand in no list (platform/fault/seam_calls.h).
  [[nodiscard]] std::vector<std::string> unlisted() const;
  // Faults injected into calls of one kind.
  [[nodiscard]] std::uint64_t injected_into(platform::SeamCall call) const;

  // Books one run; `what` names it in first_problems. False when no fault struck and all is well.
  bool book(const SimulatedVerdict& verdict, const std::string& what);
  FaultSummary& operator+=(const FaultSummary& other);
};

// Totals, sites with their codes, uncovered and unlisted ones.
[[nodiscard]] nlohmann::json summary_to_json(const FaultSummary& summary);

}  // namespace dlo::engine
