// Owns: the fail-the-n-th loop over simulated runs: for every seam call and every rank, the first
// call fails, then the second, until the run makes fewer calls than that; and its summary.
// Must not own: verdicts (simulated_run.h). Source of the method: SQLite's testing page.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/simulation/simulated_run.h"

namespace dlo::engine {

struct FaultSummary {
  std::uint64_t injected = 0;
  std::uint64_t survived = 0;       // every rank finished with the right bytes
  std::uint64_t ended_by_name = 0;  // every rank that did not finish said the fault's code
  std::uint64_t hung = 0;
  std::uint64_t different_bytes = 0;
  std::uint64_t leaked = 0;
  std::uint64_t otherwise_wrong = 0;
  std::vector<std::string> first_problems;                // at most 5, with the case, call and rank
  std::map<std::string, std::uint64_t> injected_by_call;  // every seam call, 0 when never reached

  [[nodiscard]] bool clean() const {
    return hung + different_bytes + leaked + otherwise_wrong == 0;
  }
  FaultSummary& operator+=(const FaultSummary& other);
};

// Small cases that between them reach every seam call of backend and hot path: rank-local pinned
// and pageable, AllGather in chunks over two ranks, two rings that share slots.
[[nodiscard]] std::vector<SimulatedCase> fault_cases();

// Fails every reachable call of every kind on every rank of `simulated` once, under schedule
// `seed`.
[[nodiscard]] FaultSummary fail_every_call(const SimulatedCase& simulated, std::uint64_t seed);

// `runs` runs of drawn cases with random faults: each rule armed with 50 %, firing with 1 %.
[[nodiscard]] FaultSummary fail_at_random(std::uint64_t first_seed, std::uint64_t runs);

}  // namespace dlo::engine
