// Owns: a small sweep (wan_tiny, five blocks, three modes, two backings) run through the harness's
// plan, runner and verdicts, with a decorator around every rank's device: on two ranks that are
// threads of this process, or by one rank of a world that the caller has.
// Must not own: mutants or expectations about them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "harness/results.h"
#include "platform/device.h"

namespace dlo::test {

using DecorateDevice =
    std::function<std::unique_ptr<platform::Device>(std::unique_ptr<platform::Device>)>;

struct SweepJob {
  std::string device = "cpu";      // platform.device
  std::string gather = "nccl";     // platform.gather; only cuda asks
  bool share_devices = false;      // platform.share_devices
  bool rank_local = true;          // false: AllGather alone, for a world of several ranks
  std::uint64_t slow_copy_ns = 0;  // the scenario's own slow link
  DecorateDevice decorate = {};
};

// One rank's part: the resident run, then rank-local unless left out and, with peers, AllGather
// over DP = all ranks, at depth 1, chunked, each from private and from mapped tensors. Rank 0's
// results are those that count.
[[nodiscard]] std::vector<harness::ScenarioResult> run_sweep_on(comm::World& world,
                                                                const SweepJob& job);

// On two threads of this process, CPU platform.
[[nodiscard]] std::vector<harness::ScenarioResult> run_small_sweep(std::uint64_t slow_copy_ns,
                                                                   const DecorateDevice& decorate);

// How many of them fell short.
[[nodiscard]] std::size_t count_fallen_short(const std::vector<harness::ScenarioResult>& results);

}  // namespace dlo::test
