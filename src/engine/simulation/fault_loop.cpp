#include "engine/simulation/fault_loop.h"

#include <fmt/format.h>

namespace dlo::engine {

namespace {

using platform::FaultPlan;
using platform::SeamCall;

constexpr std::size_t kProblemsMax = 5;
// A jumping clock is the last call and does not fail: it is no part of the loops. One that jumps
// inside disable() makes it give up buffers on purpose, which the leak oracle cannot tell apart.
constexpr std::size_t kFailingCallCount = static_cast<std::size_t>(SeamCall::kClock);
// A run that makes more calls of one kind than this is not a unit case.
constexpr std::uint64_t kCallsMax = 5000;

SeamCall seam_call(std::size_t index) {
  return static_cast<SeamCall>(index);
}

bool mentions(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Books one run with faults; false when no fault struck.
bool book(const SimulatedVerdict& verdict, const std::string& what, FaultSummary& summary) {
  std::uint64_t strikes = 0;
  bool finished = true;
  for (const auto& rank : verdict.ranks) {
    strikes += rank.strike_count;
    finished = finished && rank.code.empty();
  }
  if (strikes == 0 && verdict.ok()) {
    return false;
  }
  summary.injected += strikes;
  if (verdict.ok()) {
    ++(finished ? summary.survived : summary.ended_by_name);
    return true;
  }
  const auto& violation = verdict.violation;
  // With faults a deadlock ends by deadlines: a rank that only left by its own is one that hung.
  if (mentions(violation, "ended with deadline_exceeded") || mentions(violation, "for ever")) {
    ++summary.hung;
  } else if (mentions(violation, "wrong bytes")) {
    ++summary.different_bytes;
  } else if (mentions(violation, "are left") || mentions(violation, "still has a place")) {
    ++summary.leaked;
  } else {
    ++summary.otherwise_wrong;
  }
  if (summary.first_problems.size() < kProblemsMax) {
    summary.first_problems.push_back(what + ": " + violation);
  }
  return true;
}

}  // namespace

FaultSummary& FaultSummary::operator+=(const FaultSummary& other) {
  injected += other.injected;
  survived += other.survived;
  ended_by_name += other.ended_by_name;
  hung += other.hung;
  different_bytes += other.different_bytes;
  leaked += other.leaked;
  otherwise_wrong += other.otherwise_wrong;
  for (const auto& problem : other.first_problems) {
    if (first_problems.size() < kProblemsMax) {
      first_problems.push_back(problem);
    }
  }
  for (const auto& [call, count] : other.injected_by_call) {
    injected_by_call[call] += count;
  }
  return *this;
}

std::vector<SimulatedCase> fault_cases() {
  SimulatedCase local;
  local.ring_blocks = {3};
  local.walks_per_request = 1;
  auto pageable = local;
  pageable.pin_cpu_memory = false;
  auto gathered = local;
  gathered.ranks = 2;
  gathered.use_allgather = true;
  gathered.chunk_bytes = 512;
  auto two_rings = local;
  two_rings.ring_blocks = {2, 3};
  two_rings.walks_per_request = 2;
  return {local, pageable, gathered, two_rings};
}

FaultSummary fail_every_call(const SimulatedCase& simulated, std::uint64_t seed) {
  FaultSummary summary;
  for (std::size_t index = 0; index < kFailingCallCount; ++index) {
    const std::string name(seam_call_name(seam_call(index)));
    auto& injected = summary.injected_by_call[name];
    for (int rank = 0; rank < static_cast<int>(simulated.ranks); ++rank) {
      for (std::uint64_t nth = 1; nth < kCallsMax; ++nth) {
        FaultPlan plan;
        plan.rules.push_back({.call = seam_call(index), .rank = rank, .nth = nth, .code = {}});
        const auto verdict = simulate(simulated, seed, {.faults = &plan});
        const auto what = fmt::format("{}, call {} of {} on rank {}, seed {}", simulated.text(),
                                      nth, name, rank, seed);
        if (!book(verdict, what, summary)) {
          break;
        }
        ++injected;
      }
    }
  }
  return summary;
}

FaultSummary fail_at_random(std::uint64_t first_seed, std::uint64_t runs) {
  FaultSummary summary;
  for (std::uint64_t seed = first_seed; seed < first_seed + runs; ++seed) {
    FaultPlan plan{.rules = {}, .seed = seed};
    for (std::size_t index = 0; index < kFailingCallCount; ++index) {
      plan.rules.push_back({.call = seam_call(index),
                            .rank = std::nullopt,
                            .nth = 0,
                            .code = "injected",
                            .armed_percent = 50,
                            .fires_percent = 1});
    }
    const auto simulated = draw_case(seed);
    static_cast<void>(book(simulate(simulated, seed, {.faults = &plan}),
                           fmt::format("{}, seed {}", simulated.text(), seed), summary));
  }
  return summary;
}

}  // namespace dlo::engine
