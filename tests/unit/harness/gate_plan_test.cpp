// Goal: the gate's jobs: a sweep a world without what ends its world, a job of exactly its size for
// each scenario that does, killed ranks under recovery, and what fits nowhere is named.
// Method: plans and command lines of small documents.
#include "harness/gate/gate_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "platform/posix/child_process.h"
#include "tests/support/memory_file_system.h"
#include "tests/unit/harness/gate_fixtures.h"

namespace dlo::harness {
namespace {

GatePlan plan_of(const std::vector<Json>& documents, const std::vector<int>& worlds,
                 const AcceleratorCount& accelerators = {}) {
  std::vector<Scenario> scenarios;
  for (const Json& document : documents) {
    const auto read = read_scenarios(document, {.file = "some.json", .run_seed = 0});
    scenarios.insert(scenarios.end(), read.value().begin(), read.value().end());
  }
  return plan_gate(scenarios, worlds, accelerators);
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

TEST(GatePlan, Worlds_GetASweepEachAndCrashesAJobOfTheirSize) {
  const GatePlan plan = plan_of({small_document(), crash_document("all_gather", 3)}, {1, 4});
  ASSERT_EQ(plan.jobs.size(), 3U);
  EXPECT_EQ(plan.jobs[0].name, "sweep_np1");
  EXPECT_EQ(plan.jobs[1].name, "sweep_np4");
  EXPECT_EQ(plan.jobs[1].ranks, 4);
  EXPECT_EQ(plan.jobs[1].plan.steps.size(), 1U);
  EXPECT_EQ(plan.jobs[2].name, "lost");
  EXPECT_EQ(plan.jobs[2].ranks, 3);
  EXPECT_TRUE(plan.jobs[2].crash);
  EXPECT_TRUE(plan.skipped.empty());
}

TEST(GatePlan, ScenarioLargerThanEveryWorld_IsSkippedByName) {
  const GatePlan plan = plan_of({small_document(), crash_document("all_gather", 4)}, {2});
  EXPECT_EQ(plan.jobs.size(), 1U);
  ASSERT_EQ(plan.skipped.size(), 1U);
  EXPECT_EQ(plan.skipped[0].name, "lost");
  EXPECT_EQ(plan.skipped[0].reason, "needs 4 ranks, the largest world has 2");
}

TEST(GatePlan, AbsentAccelerators_AreNamedForSweepsAndCrashes) {
  Json plain = small_document();
  plain["platform"]["device"] = "cuda";
  plain["topology"]["dp"] = 1;
  Json crash = crash_document("all_gather", 2);
  crash["platform"]["device"] = "cuda";
  const AcceleratorCount one{.in_build = true, .count = 1};
  const GatePlan plan = plan_of({plain, crash}, {1, 2}, one);
  ASSERT_EQ(plan.jobs.size(), 1U);
  EXPECT_EQ(plan.jobs[0].name, "sweep_np1");
  ASSERT_EQ(plan.skipped.size(), 1U);
  EXPECT_EQ(plan.skipped[0].name, "lost");
  EXPECT_EQ(plan.skipped[0].reason, "a world of 2 ranks needs 2 GPUs, the machine has 1");
  const GatePlan without = plan_of({plain, crash}, {1, 2});
  EXPECT_TRUE(without.jobs.empty());
  ASSERT_EQ(without.skipped.size(), 2U);
  EXPECT_EQ(without.skipped[0].reason, "needs a GPU; this build has no CUDA");
}

TEST(GatePlan, ScenarioWithAJobOfItsOwn_IsRunAloneInAWorldOfItsSize) {
  Json document = small_document();
  document["own_job"] = true;
  document["topology"]["dp"] = 2;
  const GatePlan plan = plan_of({document}, {1, 4});
  ASSERT_EQ(plan.jobs.size(), 1U);
  const GateJob& job = plan.jobs.front();
  EXPECT_EQ(job.ranks, 2);
  EXPECT_FALSE(job.crash);
  const auto words = job_command(job, {});
  EXPECT_TRUE(contains(words, "--instance"));
  EXPECT_FALSE(contains(words, "sweep"));
  EXPECT_TRUE(plan.skipped.empty());
}

TEST(GatePlan, OnlyCrashes_NeedNoSweep) {
  const GatePlan plan = plan_of({crash_document("all_gather")}, {1, 2});
  ASSERT_EQ(plan.jobs.size(), 1U);
  EXPECT_EQ(plan.jobs[0].folder(), "jobs/lost");
}

TEST(GatePlan, CrashThatIsComparedWithItsReference_RunsThatFirst) {
  const GateJob job = job_of(crash_document("rank_local"));
  ASSERT_EQ(job.plan.steps.size(), 2U);
  EXPECT_EQ(job.plan.steps[1].reference, 0U);
  EXPECT_EQ(job.own_scenario().name, "lost");
}

TEST(GateCommand, KilledRanks_RunUnderRecoveryAndStoppedOnesDoNot) {
  GateSettings settings;
  settings.mpirun = "/bin/mpirun";
  settings.program = "/bin/dlo";
  settings.out = "out";
  settings.scenarios = {"a.json", "folder"};
  const auto killed = job_command(job_of(crash_document("all_gather")), settings);
  EXPECT_TRUE(contains(killed, "--enable-recovery"));
  EXPECT_TRUE(contains(killed, "--instance"));
  EXPECT_TRUE(contains(killed, "lost.json"));
  const auto stopped = job_command(job_of(crash_document("all_gather", 2, "rank_stops")), settings);
  EXPECT_FALSE(contains(stopped, "--enable-recovery"));
  const auto sweep = job_command(job_of(small_document(), {2}), settings);
  EXPECT_FALSE(contains(sweep, "--enable-recovery"));
  EXPECT_EQ(sweep.front(), "/bin/mpirun");
  EXPECT_TRUE(contains(sweep, "sweep") && contains(sweep, "a.json") && contains(sweep, "folder"));
  EXPECT_TRUE(contains(sweep, "out/jobs/sweep_np2"));
}

TEST(SharedMemoryFolder, GatesThatAreGone_AreCleanedUpAfter) {
  test_support::MemoryFileSystem files;
  const int mine = platform::own_process_id();
  files.put("/shm/dlo-gate-2147483647/segment", "left over");
  files.put("/shm/dlo-gate-" + std::to_string(mine) + "/segment", "of a process that lives");
  files.put("/shm/dlo-gate-x/segment", "not a gate's");
  files.put("/shm/other", "not a gate's");
  const auto folder = shared_memory_folder(files, "/shm");
  EXPECT_EQ(folder, "/shm/dlo-gate-" + std::to_string(mine));
  EXPECT_FALSE(files.stat("/shm/dlo-gate-2147483647").ok());
  EXPECT_TRUE(files.stat(folder).ok());
  EXPECT_TRUE(files.stat("/shm/dlo-gate-x").ok());
  EXPECT_TRUE(files.stat("/shm/other").ok());
  EXPECT_TRUE(shared_memory_folder(files, "/none").empty());
}

TEST(GateJob, NameOfAMatrixInstance_BecomesAPlainFolder) {
  const GateJob job{.name = "a/where=in_gather/../x", .ranks = 2, .crash = true, .plan = {}};
  EXPECT_EQ(job.folder(), "jobs/a-where-in_gather----x");
}

}  // namespace
}  // namespace dlo::harness
