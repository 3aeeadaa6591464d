// Owns: one simulated run: the real backend and hot path over the synthetic model on simulated
// ranks, one seed one schedule, and the oracles that judge it.
// Must not own: which seeds are tried (exploration.h), the hot path itself, torch.
//
// Oracles: every byte that compute reads is the checkpoint's; no operation writes what another in
// flight uses; traffic equals the plan (I3) and device memory the plan's limit (I4); after
// disable() every block is untouched, no buffer is left and nothing is in flight; no deadlock.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/simulation/simulated_case.h"
#include "platform/device.h"
#include "platform/fault/fault_plan.h"
#include "platform/sim/sim_device.h"

namespace dlo::engine {

// Wraps the simulated device of `rank`: the place of faults and mutants. May be empty.
using DeviceDecorator = std::function<std::unique_ptr<platform::Device>(
    std::unique_ptr<platform::Device> device, int rank)>;

// How one rank of a run ended.
struct RankVerdict {
  std::string code;  // of the refusal it ended with; empty: it finished
  std::string message;
  std::uint64_t strike_count = 0;                            // faults that struck on this rank
  std::string struck_code;                                   // code of the first
  std::vector<std::pair<std::string, std::string>> strikes;  // each: call site and code
  std::map<std::string, std::uint64_t> sites;                // calls by call site, with faults only
  // disable() gave up buffers under a stream that was still busy: on purpose, and said so.
  bool abandoned_buffers = false;
};

struct SimulatedVerdict {
  std::string violation;  // first broken oracle; empty when all hold
  std::uint64_t trace_digest = 0;
  std::uint64_t event_count = 0;
  Nanoseconds end_time = 0;  // virtual
  std::vector<RankVerdict> ranks;

  [[nodiscard]] bool ok() const { return violation.empty(); }
};

// What may be added to a run; all optional, nothing owned.
struct SimulatedExtras {
  DeviceDecorator decorate = {};
  std::vector<platform::sim::SimTraceRow>* trace = nullptr;  // what ran when is appended to it
  // With faults a refusal is an ending, not a violation. The oracles then are: correct bytes up to
  // there, one code on every rank that did not finish, no hang, nothing left.
  const platform::FaultPlan* faults = nullptr;
};

// Runs `simulated` under schedule `seed`. Throws nothing: what goes wrong is the violation.
[[nodiscard]] SimulatedVerdict simulate(const SimulatedCase& simulated, std::uint64_t seed,
                                        const SimulatedExtras& extras = {});

}  // namespace dlo::engine
