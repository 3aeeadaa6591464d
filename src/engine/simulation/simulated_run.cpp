#include "engine/simulation/simulated_run.h"

#include <fmt/format.h>

#include "engine/simulation/simulated_rank.h"

namespace dlo::engine {

namespace {

// One failure, one name: every rank that did not finish says the code of a fault that struck.
std::string judge_endings(const std::vector<RankVerdict>& ranks) {
  std::string struck;
  for (const auto& rank : ranks) {
    struck = struck.empty() ? rank.struck_code : struck;
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const auto& rank = ranks[r];
    if (!rank.code.empty() && rank.code != struck) {
      return fmt::format("rank {} ended with {} where {} struck: {}", r, rank.code,
                         struck.empty() ? "nothing" : struck, rank.message);
    }
  }
  return {};
}

}  // namespace

SimulatedVerdict simulate(const SimulatedCase& simulated, std::uint64_t seed,
                          const SimulatedExtras& extras) {
  const int rank_count = static_cast<int>(simulated.ranks);
  platform::sim::SimKernel kernel(
      {.seed = seed, .rank_count = rank_count, .deadlines_expected = extras.faults != nullptr});
  const platform::sim::ExploringCosts costs(seed);
  comm::SimFabric fabric(kernel, rank_count);
  SimulatedVerdict verdict;
  verdict.ranks.resize(simulated.ranks);
  const auto outcome = kernel.run([&](int rank) {
    verdict.ranks[static_cast<std::size_t>(rank)] =
        SimulatedRank(kernel, fabric, simulated, extras, rank).run(costs);
  });
  verdict.violation = outcome.violation;
  verdict.trace_digest = outcome.trace_digest;
  verdict.event_count = outcome.event_count;
  verdict.end_time = outcome.end_time;
  if (verdict.ok() && extras.faults != nullptr) {
    verdict.violation = judge_endings(verdict.ranks);
  }
  return verdict;
}

}  // namespace dlo::engine
