// Owns: exploration: many seeds of a space of cases under the oracles, and the shrinking of the
// first failure to a small case and seed that one command repeats.
// Must not own: the oracles (simulated_run.h) or command-line parsing (harness).
// Deterministic: which seeds fail does not depend on the number of workers; the lowest failing seed
// is the one reported.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "engine/simulation/simulated_run.h"
#include "platform/clock.h"
#include "platform/executor.h"
#include "telemetry/timeline.h"

namespace dlo::engine {

enum class Shrinking : std::uint8_t { kOn, kOff };

struct ExploreRequest {
  std::uint64_t first_seed = 1;
  std::uint64_t last_seed = 1000;          // inclusive
  std::optional<Nanoseconds> time_limit;   // stop early, after a whole batch
  std::optional<SimulatedCase> simulated;  // this case for every seed; none: it is drawn
  std::optional<std::uint32_t> ranks;      // drawn cases are AllGather over so many
  Shrinking shrink = Shrinking::kOn;
  DeviceDecorator decorate;  // faults or mutants

  [[nodiscard]] SimulatedCase case_of(std::uint64_t seed) const;
};

struct ExploreFailure {
  std::uint64_t seed = 0;  // lowest seed that failed
  SimulatedCase simulated;
  std::string violation;
  std::uint64_t shrunk_seed = 0;
  SimulatedCase shrunk;
  std::string shrunk_violation;

  // "dlo explore --case '{...}' --seeds S..S".
  [[nodiscard]] std::string command() const;
};

struct ExploreResult {
  std::uint64_t seeds_run = 0;
  std::uint64_t forwards_run = 0;
  std::uint64_t events_run = 0;
  std::uint64_t trace_digest = 0;  // over all seeds, in order
  Nanoseconds elapsed = 0;
  std::optional<ExploreFailure> failure;
};

// `progress`, when set, is called after each batch with the seeds run so far.
[[nodiscard]] ExploreResult explore(platform::Executor& executor, const platform::Clock& clock,
                                    const ExploreRequest& request,
                                    const std::function<void(std::uint64_t)>& progress = {});

// Runs one schedule again and keeps what ran when.
[[nodiscard]] telemetry::Timeline replay_timeline(const SimulatedCase& simulated,
                                                  std::uint64_t seed,
                                                  const DeviceDecorator& decorate = {});

}  // namespace dlo::engine
