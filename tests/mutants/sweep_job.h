// Owns: a small sweep (wan_tiny, two ranks as threads, three modes) run in this process through the
// harness's plan, runner and verdicts, with a decorator around every rank's device.
// Must not own: mutants or expectations about them.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "harness/results.h"
#include "platform/device.h"

namespace dlo::test {

using DecorateDevice =
    std::function<std::unique_ptr<platform::Device>(std::unique_ptr<platform::Device>)>;

// Results as rank 0 has them: the resident run, then rank-local and AllGather over a ring of five
// blocks at depth 1, chunked, with copies slowed by `slow_copy_ns`.
[[nodiscard]] std::vector<harness::ScenarioResult> run_small_sweep(std::uint64_t slow_copy_ns,
                                                                   const DecorateDevice& decorate);

// How many of them fell short.
[[nodiscard]] std::size_t count_fallen_short(const std::vector<harness::ScenarioResult>& results);

}  // namespace dlo::test
