// Owns: run_on_threads, which serves one request of the engine on ranks that are threads of this
// process, over the real files; fail_each, which does so with one call after the other failing.
// Must not own: requests (tiny_run.h), devices, what a run must end in.
// Threading: returns when all ranks have returned; hooks are called on each rank's thread.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/threads/thread_world.h"
#include "engine/model_runner.h"
#include "platform/device.h"
#include "platform/fault/seam_calls.h"
#include "platform/posix/posix_file_system.h"
#include "platform/posix/steady_clock.h"
#include "tests/support/thread_ranks.h"

namespace dlo::test_support {

// What a test puts around a rank's device and world; either may be empty.
struct RankHooks {
  std::function<std::unique_ptr<platform::Device>(std::unique_ptr<platform::Device>, int rank)>
      device = {};
  std::function<std::unique_ptr<comm::World>(comm::World&)> world = {};
};

// Element r is what rank r got.
inline std::vector<engine::RunReport> run_on_threads(int ranks, const engine::RunRequest& request,
                                                     const RankHooks& hooks = {}) {
  platform::SteadyClock clock;
  platform::PosixFileSystem files;
  auto worlds = comm::make_thread_world(ranks, clock);
  std::vector<engine::RunReport> reports(static_cast<std::size_t>(ranks));
  run_ranks(worlds, [&](comm::World& world) {
    const int rank = world.rank();
    const auto wrapped = hooks.world ? hooks.world(world) : nullptr;
    engine::RunEnvironment environment;
    environment.world = wrapped != nullptr ? wrapped.get() : &world;
    environment.files = &files;
    environment.build_digest = "test";
    if (hooks.device) {
      environment.decorate_device = [&hooks, rank](std::unique_ptr<platform::Device> device) {
        return hooks.device(std::move(device), rank);
      };
    }
    reports[static_cast<std::size_t>(rank)] = engine::run(environment, request);
  });
  return reports;
}

// Serves `plain` on one rank again and again: in the n-th run the n-th `call` fails with the code
// "injected". `visit(rank, report, where)` sees each run that was struck; their number is returned.
// More than `most` fail the test.
template <typename Visit>
std::uint64_t fail_each(const engine::RunRequest& plain, platform::SeamCall call,
                        std::uint64_t most, Visit visit) {
  for (std::uint64_t nth = 1; nth <= most; ++nth) {
    auto request = plain;
    request.platform.faults.rules.push_back(
        {.call = call, .rank = 0, .nth = nth, .code = "injected"});
    const auto report = run_on_threads(1, request).front();
    const auto& rank = report.ranks.at(0);
    if (rank.fault_count == 0) {
      return nth - 1;
    }
    visit(rank, report, std::string(platform::seam_call_name(call)) + " " + std::to_string(nth));
  }
  ADD_FAILURE() << platform::seam_call_name(call) << " is called more than " << most << " times";
  return most;
}

}  // namespace dlo::test_support
