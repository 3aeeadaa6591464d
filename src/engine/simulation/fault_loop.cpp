#include "engine/simulation/fault_loop.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "platform/fault/fail_nth.h"

namespace dlo::engine {

namespace {

using platform::FaultPlan;
using platform::SeamCall;

SeamCall seam_call(std::size_t index) {
  return static_cast<SeamCall>(index);
}

SimulatedVerdict run_counted(const SimulatedCase& simulated, std::uint64_t seed,
                             const FaultPlan& plan, const FaultLoopSeams& seams,
                             RunCounts& counts) {
  auto verdict = simulate(simulated, seed, {.decorate = seams.decorate, .faults = &plan});
  counts.look(verdict);
  return verdict;
}

}  // namespace

RunCounts::RunCounts(const ResourceProbe& probe) : probe_(probe) {
  if (probe_) {
    held_ = probe_(nullptr);
  }
}

void RunCounts::look(SimulatedVerdict& verdict) {
  if (!probe_) {
    return;
  }
  const auto now = probe_(&held_);
  const auto grown = telemetry::grown_resources(held_, now);
  if (grown.empty()) {
    return;
  }
  if (verdict.ok()) {
    verdict.violation = fmt::format("resources are left: {}", fmt::join(grown, "; "));
  }
  held_ = now;
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
  auto staged = local;
  staged.mapped = true;
  staged.staging_chunk_bytes = 512;
  staged.staging_bytes = 1536;  // three chunks: packed ahead
  auto staged_residents = staged;
  staged_residents.staging_bytes = 1024;  // two: chunk by chunk
  staged_residents.pin_cpu_memory = false;
  staged_residents.ring_blocks = {4};
  staged_residents.resident_layers = 1;
  auto gathered_mapping = gathered;
  gathered_mapping.mapped = true;
  auto chained = gathered;
  chained.ring_blocks = {3, 2};
  chained.children = true;
  return {local,  pageable,         gathered,         two_rings,
          staged, staged_residents, gathered_mapping, chained};
}

FaultSummary fail_every_call(const SimulatedCase& simulated, std::uint64_t seed,
                             const FaultLoopSeams& seams) {
  FaultSummary summary;
  static_cast<void>(simulate(simulated, seed));
  RunCounts counts(seams.count);
  for (std::size_t index = 0; index < platform::kSeamCallCount; ++index) {
    const auto call = seam_call(index);
    for (const auto code : natural_codes(call)) {
      for (int rank = 0; rank < static_cast<int>(simulated.ranks); ++rank) {
        platform::FaultRule rule;
        rule.call = call;
        rule.rank = rank;
        rule.code = code;
        platform::fail_every_nth(rule, [&](const FaultPlan& plan) {
          const auto verdict = run_counted(simulated, seed, plan, seams, counts);
          return summary.book(
              verdict, fmt::format("{}, call {} of {} ({}) on rank {}, seed {}", simulated.text(),
                                   plan.rules.front().nth, seam_call_name(call), code, rank, seed));
        });
      }
    }
  }
  return summary;
}

FaultSummary fail_at_random(std::uint64_t first_seed, std::uint64_t runs,
                            const FaultLoopSeams& seams) {
  FaultSummary summary;
  static_cast<void>(simulate(draw_case(first_seed), first_seed));
  RunCounts counts(seams.count);
  for (std::uint64_t seed = first_seed; seed < first_seed + runs; ++seed) {
    FaultPlan plan{.rules = {}, .seed = seed};
    // A clock that jumps fails nothing by itself: its runs are in the loop above.
    for (std::size_t index = 0; index < static_cast<std::size_t>(SeamCall::kClock); ++index) {
      platform::FaultRule rule;
      rule.call = seam_call(index);
      rule.code = "injected";
      rule.armed_percent = 50;
      rule.fires_percent = 1;
      plan.rules.push_back(rule);
    }
    const auto simulated = draw_case(seed);
    static_cast<void>(summary.book(run_counted(simulated, seed, plan, seams, counts),
                                   fmt::format("{}, seed {}", simulated.text(), seed)));
  }
  return summary;
}

}  // namespace dlo::engine
