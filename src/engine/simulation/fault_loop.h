// Owns: the fail-the-n-th loop over simulated runs: for every seam call, every code it has in real
// life and every rank, the first call fails, then the second, until the run makes fewer calls than
// that; and runs with random faults.
// Must not own: verdicts (simulated_run.h), the books (fault_summary.h), files
// (file_fault_loop.h). Threading: one caller. Failure: booked.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/simulation/fault_summary.h"
#include "engine/simulation/simulated_run.h"
#include "telemetry/process_resources.h"

namespace dlo::engine {

// Counts what the process holds; against `before` until it has settled, where that is given.
using ResourceProbe =
    std::function<telemetry::ProcessResources(const telemetry::ProcessResources* before)>;

// What a loop may be given; all optional.
struct FaultLoopSeams {
  ResourceProbe count = {};       // a run that ends with more than the first one began with leaks
  DeviceDecorator decorate = {};  // over the faults
};

// Small cases that between them reach every seam call of backend and hot path: rank-local pinned
// and pageable, AllGather in chunks over two ranks, two rings that share slots, blocks staged from
// mapped files, with resident leading ones too, AllGather from mapped files, and AllGather of a DiT
// with a child that is walked before it.
[[nodiscard]] std::vector<SimulatedCase> fault_cases();

// Fails every reachable call of every kind, with every code, on every rank of `simulated` once,
// under schedule `seed`. A clock that jumps is one of the kinds.
[[nodiscard]] FaultSummary fail_every_call(const SimulatedCase& simulated, std::uint64_t seed,
                                           const FaultLoopSeams& seams = {});

// `runs` runs of drawn cases with random faults: each rule armed with 50 %, firing with 1 %.
[[nodiscard]] FaultSummary fail_at_random(std::uint64_t first_seed, std::uint64_t runs,
                                          const FaultLoopSeams& seams = {});

// Counts around the runs of a loop. What libraries keep from their first use on (arenas of malloc,
// stacks of threads) is there before the first count: the caller runs once without faults.
class RunCounts {
 public:
  explicit RunCounts(const ResourceProbe& probe);
  // Books what has grown since the last look as a violation of `verdict`, which had none.
  void look(SimulatedVerdict& verdict);

 private:
  const ResourceProbe& probe_;
  telemetry::ProcessResources held_;
};

}  // namespace dlo::engine
