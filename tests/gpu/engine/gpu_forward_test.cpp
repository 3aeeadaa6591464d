// Goal: a run on a GPU ends as on the CPU: all modes give the resident bytes, a forward never waits
// for the device, and one imposed limit holds for the platform's and for torch's memory, by name,
// with the next run unharmed. Method: the diffusers-written wan_tiny checkpoint, one rank.
// Run from the top folder of the repository.
#include <gtest/gtest.h>

#include "base/codes.h"
#include "comm/threads/thread_world.h"
#include "engine/model_runner.h"
#include "platform/cuda/cuda_inventory.h"
#include "platform/posix/posix_file_system.h"
#include "platform/posix/steady_clock.h"
#include "tests/support/strict_device.h"
#include "tests/support/tiny_run.h"

namespace dlo::engine {
namespace {

using Decorate =
    std::function<std::unique_ptr<platform::Device>(std::unique_ptr<platform::Device>)>;

RunRequest tiny_request(bool offload, bool mapped = false) {
  auto request = test_support::tiny_run("tests/golden/wan_tiny/checkpoint", 1);
  request.options.enable_distributed_layerwise_offload = offload;
  request.options.dlo_use_allgather = false;
  request.options.dlo_checkpoint_mmap = mapped;
  request.requests.steps = 3;
  request.platform.device = "cuda";
  request.platform.wait_timeout_s = 60;
  return request;
}

RunReport run_alone(const RunRequest& request, const Decorate& decorate = {}) {
  platform::SteadyClock clock;
  platform::PosixFileSystem files;
  const auto worlds = comm::make_thread_world(1, clock);
  RunEnvironment environment;
  environment.world = worlds.front().get();
  environment.files = &files;
  environment.build_digest = "test";
  environment.decorate_device = decorate;
  return run(environment, request);
}

class GpuForward : public testing::Test {
 protected:
  void SetUp() override {
    if (platform::cuda_device_count() == 0) {
      GTEST_SKIP() << "no CUDA device can be used on this machine";
    }
  }
};

TEST_F(GpuForward, RankLocalAndStaged_GiveTheResidentBytes) {
  const auto resident = run_alone(tiny_request(false));
  ASSERT_EQ(resident.outcome, Outcome::kRuns) << resident.message;
  for (const bool mapped : {false, true}) {
    const auto streamed = run_alone(tiny_request(true, mapped));
    ASSERT_EQ(streamed.outcome, Outcome::kRuns) << streamed.message;
    EXPECT_EQ(streamed.output_digest, resident.output_digest);
    const auto& rank = streamed.ranks.at(0);
    EXPECT_EQ(rank.effective.transfer,
              mapped ? contracts::Transfer::kStaged : contracts::Transfer::kRankLocal);
    EXPECT_TRUE(rank.traffic.matches_plan());
    EXPECT_LE(rank.owned.device_peak, rank.owned.device_limit);
    EXPECT_LE(rank.owned.host_private_now, rank.owned.host_private_limit);
  }
}

TEST_F(GpuForward, LaterForwards_NeverWaitForTheDevice) {
  for (const auto& request :
       {tiny_request(false), tiny_request(true), tiny_request(true, /*mapped=*/true)}) {
    const auto report = run_alone(request, [](auto device) {
      return std::make_unique<test_support::StrictDevice>(std::move(device));
    });
    EXPECT_EQ(report.outcome, Outcome::kRuns) << report.message;
  }
}

TEST_F(GpuForward, ImposedLimit_HoldsForTorchTooAndIsLiftedAfterwards) {
  auto limited = tiny_request(true);
  // Room for the slots, not for the workspace of a matrix product.
  limited.platform.device_budget_bytes = 8 * kMiB;
  const auto refused = run_alone(limited);
  EXPECT_EQ(refused.outcome, Outcome::kFailsClosed);
  EXPECT_EQ(refused.code, codes::kDeviceOutOfMemory) << refused.message;
  const auto after = run_alone(tiny_request(true));
  EXPECT_EQ(after.outcome, Outcome::kRuns) << after.message;
}

TEST_F(GpuForward, BudgetBelowTheSlots_IsRefusedAtEnable) {
  auto limited = tiny_request(true);
  limited.platform.device_budget_bytes = 1024;
  const auto refused = run_alone(limited);
  EXPECT_EQ(refused.outcome, Outcome::kFailsClosed);
  EXPECT_EQ(refused.code, codes::kDeviceOutOfMemory) << refused.message;
}

}  // namespace
}  // namespace dlo::engine
