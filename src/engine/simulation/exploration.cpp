#include "engine/simulation/exploration.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace dlo::engine {

namespace {

constexpr std::uint64_t kBatchSeeds = 64;
// Schedules tried for each smaller case before it counts as passing.
constexpr std::uint64_t kShrinkSeeds = 64;
// Smaller cases tried in all: shrinking is a convenience and must end.
constexpr int kShrinkStepsMax = 200;

struct SeedVerdict {
  SimulatedCase simulated;
  SimulatedVerdict verdict;
};

SeedVerdict run_seed(const ExploreRequest& request, std::uint64_t seed) {
  auto simulated = request.case_of(seed);
  auto verdict = simulate(simulated, seed, {.decorate = request.decorate});
  return {std::move(simulated), std::move(verdict)};
}

// First schedule of `candidate` that fails, starting at `seed`.
std::optional<std::pair<std::uint64_t, std::string>> find_failure(const SimulatedCase& candidate,
                                                                  std::uint64_t seed,
                                                                  const DeviceDecorator& decorate) {
  for (std::uint64_t i = 0; i < kShrinkSeeds; ++i) {
    auto verdict = simulate(candidate, seed + i, {.decorate = decorate});
    if (!verdict.ok()) {
      return std::pair(seed + i, std::move(verdict.violation));
    }
  }
  return std::nullopt;
}

void shrink(ExploreFailure& failure, const DeviceDecorator& decorate) {
  failure.shrunk = failure.simulated;
  failure.shrunk_seed = failure.seed;
  failure.shrunk_violation = failure.violation;
  int steps = 0;
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (const auto& candidate : smaller_cases(failure.shrunk)) {
      if (++steps > kShrinkStepsMax) {
        return;
      }
      if (auto found = find_failure(candidate, failure.seed, decorate)) {
        failure.shrunk = candidate;
        failure.shrunk_seed = found->first;
        failure.shrunk_violation = found->second;
        smaller = true;
        break;
      }
    }
  }
}

// Adds the verdicts of one batch in seed order; true when one of them is a failure.
bool book_batch(const std::vector<SeedVerdict>& batch, std::uint64_t first_seed,
                ExploreResult& result) {
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto& [simulated, verdict] = batch[i];
    ++result.seeds_run;
    result.forwards_run += simulated.forwards() * simulated.ranks;
    result.events_run += verdict.event_count;
    result.trace_digest = result.trace_digest * 0x9E3779B97F4A7C15ULL ^ verdict.trace_digest;
    if (!verdict.ok()) {
      result.failure = ExploreFailure{first_seed + i, simulated, verdict.violation, 0, {}, {}};
      return true;
    }
  }
  return false;
}

}  // namespace

SimulatedCase ExploreRequest::case_of(std::uint64_t seed) const {
  if (simulated) {
    return *simulated;
  }
  return ranks ? draw_case_over(*ranks, seed) : draw_case(seed);
}

std::string ExploreFailure::command() const {
  return fmt::format("dlo explore --case '{}' --seeds {}..{}", case_to_json(shrunk).dump(),
                     shrunk_seed, shrunk_seed);
}

ExploreResult explore(platform::Executor& executor, const platform::Clock& clock,
                      const ExploreRequest& request,
                      const std::function<void(std::uint64_t)>& progress) {
  ExploreResult result;
  const Nanoseconds begin = clock.now();
  for (auto first = request.first_seed; first <= request.last_seed; first += kBatchSeeds) {
    const auto count = std::min(kBatchSeeds, request.last_seed - first + 1);
    std::vector<SeedVerdict> batch(count);
    executor.parallel_for(count, [&](std::size_t i) { batch[i] = run_seed(request, first + i); });
    const bool failed = book_batch(batch, first, result);
    if (progress) {
      progress(result.seeds_run);
    }
    const bool late = request.time_limit && clock.now() - begin >= *request.time_limit;
    if (failed || late) {
      break;
    }
  }
  if (result.failure && request.shrink == Shrinking::kOn) {
    shrink(*result.failure, request.decorate);
  }
  result.elapsed = clock.now() - begin;
  return result;
}

telemetry::Timeline replay_timeline(const SimulatedCase& simulated, std::uint64_t seed,
                                    const DeviceDecorator& decorate) {
  std::vector<platform::sim::SimTraceRow> trace;
  static_cast<void>(simulate(simulated, seed, {.decorate = decorate, .trace = &trace}));
  telemetry::Timeline timeline;
  for (const auto& row : trace) {
    timeline.rows.push_back({row.begin, row.end, row.rank,
                             std::string(platform::stream_name(row.stream)),
                             label_text(row.label)});
  }
  return timeline;
}

}  // namespace dlo::engine
