// Goal: making a checkpoint and reading one survive every failing call of files and workers, or end
// by its name; nothing half-made is ever visible and nothing is left lying.
// Method: the fail-the-n-th loop over a real folder; then a file system that leaves its files.
#include "engine/simulation/file_fault_loop.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "platform/cpu/cpu_device.h"
#include "platform/cpu/thread_executor.h"
#include "platform/posix/posix_file_system.h"
#include "platform/posix/steady_clock.h"
#include "tests/unit/sim/judged_resources.h"

namespace dlo::engine {
namespace {

using platform::SeamCall;

class FileFaultLoopTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] FaultSummary run() {
    return fail_every_file_call(
        {.files = files_,
         .executor = executor_,
         .make_device = [this] { return platform::make_cpu_device({}, clock_, *signal_); },
         .folder = folder_,
         .count =
             [this](const telemetry::ProcessResources* before) {
               return judged(
                   before == nullptr
                       ? telemetry::count_resources(files_, {folder_}).value()
                       : telemetry::count_settled(files_, {folder_}, *before, clock_).value());
             }});
  }

  platform::PosixFileSystem files_;
  platform::ThreadExecutor executor_{1};
  platform::SteadyClock clock_;
  std::unique_ptr<FailureSignal> signal_ = make_local_failure_signal();
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / "dlo_file_fault_loop_test";
};

TEST_F(FileFaultLoopTest, EveryCallOfFilesAndWorkersFails_EndsByNameWithNothingLeft) {
  const auto summary = run();
  EXPECT_TRUE(summary.clean()) << summary.leaked << " leaked";
  for (const auto& problem : summary.first_problems) {
    ADD_FAILURE() << problem;
  }
  for (std::size_t index = 0; index < platform::kSeamCallCount; ++index) {
    const auto call = static_cast<SeamCall>(index);
    const std::string name(seam_call_name(call));
    const bool here = name.starts_with("file_") || call == SeamCall::kSubmit ||
                      call == SeamCall::kTask || call == SeamCall::kAllocatePageable;
    EXPECT_EQ(summary.injected_into(call) > 0, here) << name;
  }
  EXPECT_EQ(summary.unlisted(), std::vector<std::string>{});
  // Every listed site of a file or a worker was met with every code that it has.
  for (const auto& [site, coverage] : summary.sites) {
    if (site.starts_with("file_")) {
      EXPECT_FALSE(coverage.injected.empty()) << site;
    }
  }
  EXPECT_GT(summary.ended_by_name, 100U);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace dlo::engine
