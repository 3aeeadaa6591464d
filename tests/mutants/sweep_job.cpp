#include "tests/mutants/sweep_job.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>

#include "comm/threads/thread_world.h"
#include "engine/accelerators.h"
#include "engine/model_runner.h"
#include "harness/plan.h"
#include "harness/runner.h"
#include "harness/scenario.h"
#include "host_weights/seeded_checkpoint/seeded_checkpoint.h"
#include "platform/cpu/thread_executor.h"
#include "platform/posix/posix_file_system.h"
#include "platform/posix/steady_clock.h"
#include "tests/support/thread_ranks.h"

namespace dlo::test {

namespace {

harness::Json sweep_document(const SweepJob& job, int ranks) {
  auto transfers = harness::Json::array();
  if (job.rank_local) {
    transfers.push_back("rank_local");
  }
  if (ranks > 1) {
    transfers.push_back("all_gather");
  }
  return harness::Json{
      {"name", "mutant"},
      {"model", {{"preset", "wan_tiny"}, {"blocks", 5}, {"dtype", "F32"}}},
      {"faults", {{"slow_copy_ns", job.slow_copy_ns}}},
      {"requests",
       {{"count", 2}, {"steps", 2}, {"latent_height", 8}, {"latent_width", 8}, {"text_tokens", 8}}},
      {"platform",
       {{"device", job.device},
        {"gather", job.gather},
        {"share_devices", job.share_devices},
        {"wait_timeout_s", 20}}},
      // Several chunks a block through a ring of two.
      {"options", {{"dlo_staging_chunk_bytes", 4096}, {"dlo_staging_bytes", 8192}}},
      {"matrix",
       {{"dp", {ranks}},
        {"transfer", transfers},
        {"backing", harness::Json::array({"ordinary", "checkpoint_mmap"})},
        {"chunk_bytes", {4096}},
        {"prefetch_depth", {1}}}},
      {"expect", harness::Json::array({{{"outcome", "runs"}}})},
      {"compare_with", "resident"}};
}

// A checkpoint of its own in the test's temporary folder, made once.
platform::Path small_checkpoint() {
  static const platform::Path folder = [] {
    // One folder a process: ranks under mpirun make it side by side.
    const auto path =
        platform::Path(testing::TempDir()) / ("dlo_mutant_sweep_" + std::to_string(::getpid()));
    std::filesystem::remove_all(path);
    platform::PosixFileSystem files;
    platform::ThreadExecutor executor(2);
    host_weights::SeededCheckpointOptions options;
    options.preset = "wan_tiny";
    options.blocks = 5;
    options.dtype = host_weights::StoredDType::kF32;
    options.out = path;
    const auto created = host_weights::create_seeded_checkpoint(files, executor, options);
    EXPECT_TRUE(created.ok()) << (created.ok() ? "" : created.refusal().message());
    return path;
  }();
  return folder;
}

}  // namespace

std::vector<harness::ScenarioResult> run_sweep_on(comm::World& world, const SweepJob& job) {
  // The first rank's: all ranks must be asked for the same run.
  const auto deadline = Deadline::after(platform::SteadyClock().now(), 60 * kSecond);
  const auto folders = world.control().exchange(
      "checkpoint", world.rank() == 0 ? small_checkpoint().string() : "", deadline);
  const platform::Path checkpoint = folders.value().front();
  const auto scenarios = harness::read_scenarios(sweep_document(job, world.size()),
                                                 {.file = "mutant.json", .run_seed = 0})
                             .value();
  platform::PosixFileSystem files;
  engine::RunEnvironment environment;
  environment.world = &world;
  environment.files = &files;
  environment.decorate_device = job.decorate;
  const auto accelerators = engine::find_accelerators();
  std::ostringstream log;
  harness::Progress progress(log, /*terminal=*/false, /*speaks=*/false);
  return harness::run_plan(
             harness::plan_sweep(scenarios, world.size(),
                                 {accelerators.in_build, accelerators.devices.size()}),
             {.prepare_model =
                  [&checkpoint](const harness::ModelChoice&) {
                    return Result<platform::Path>(checkpoint);
                  },
              .run =
                  [&environment](const engine::RunRequest& request) {
                    return engine::run(environment, request);
                  },
              .progress = progress})
      .scenarios;
}

std::vector<harness::ScenarioResult> run_small_sweep(std::uint64_t slow_copy_ns,
                                                     const DecorateDevice& decorate) {
  static_cast<void>(small_checkpoint());  // made before the ranks ask for it at once
  platform::SteadyClock clock;
  auto worlds = comm::make_thread_world(2, clock);
  std::vector<harness::ScenarioResult> results;
  test_support::run_ranks(worlds, [&](comm::World& world) {
    auto mine = run_sweep_on(world, {.slow_copy_ns = slow_copy_ns, .decorate = decorate});
    if (world.rank() == 0) {
      results = std::move(mine);
    }
  });
  return results;
}

std::size_t count_fallen_short(const std::vector<harness::ScenarioResult>& results) {
  return static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(), [](const auto& r) { return !r.passed; }));
}

}  // namespace dlo::test
