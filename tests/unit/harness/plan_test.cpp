// Goal: a plan runs what fits, says why the rest does not, and puts each resident reference once
// and before the scenarios that need it. Method: hand-made scenario lists and worlds.
#include "harness/plan.h"

#include <gtest/gtest.h>

#include "base/codes.h"
#include "tests/unit/harness/harness_fixtures.h"

namespace dlo::harness {
namespace {

std::vector<Scenario> modes(const char* transfers, const char* dp_sizes) {
  Json document = small_document();
  document["matrix"] = {{"dp", Json::parse(dp_sizes)}, {"transfer", Json::parse(transfers)}};
  document["compare_with"] = "resident";
  return read_scenarios(document, {.file = "small.json", .run_seed = 0}).value();
}

TEST(Plan, LargerTopology_IsSkippedWithTheReason) {
  const Plan plan = plan_sweep(modes(R"(["resident"])", "[1, 2, 4]"), 2);
  ASSERT_EQ(plan.steps.size(), 2U);
  ASSERT_EQ(plan.skipped.size(), 1U);
  EXPECT_EQ(plan.skipped[0].name, "small/dp4/resident");
  EXPECT_EQ(plan.skipped[0].reason, "needs 4 ranks, world has 2");
}

TEST(Plan, ScenarioWithAJobOfItsOwn_IsSkippedByASweepAndRunByName) {
  Json document = small_document();
  document["own_job"] = true;
  const auto scenarios = read_scenarios(document, {.file = "small.json", .run_seed = 0}).value();
  const Plan swept = plan_sweep(scenarios, 1);
  EXPECT_TRUE(swept.steps.empty());
  ASSERT_EQ(swept.skipped.size(), 1U);
  EXPECT_EQ(swept.skipped[0].reason,
            "wants processes of its own; a job for dlo run --instance or dlo gate");
  EXPECT_EQ(plan_run(scenarios, 1)->steps.size(), 1U);
}

TEST(Plan, ReferenceInTheMatrix_IsUsedAndStandsFirst) {
  const Plan plan = plan_sweep(modes(R"(["all_gather", "resident"])", "[2]"), 2);
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_EQ(plan.steps[0].scenario.name, "small/dp2/resident");
  EXPECT_FALSE(plan.steps[0].reference.has_value());
  EXPECT_EQ(plan.steps[1].reference, 0U);
}

TEST(Plan, ReferenceOfEachTopology_IsItsOwn) {
  const Plan plan = plan_sweep(modes(R"(["resident", "rank_local"])", "[1, 2]"), 2);
  ASSERT_EQ(plan.steps.size(), 4U);
  EXPECT_EQ(plan.steps[1].reference, 0U);
  EXPECT_EQ(plan.steps[3].reference, 2U);
}

TEST(Plan, ReferenceThatNobodyAskedFor_IsAddedOnce) {
  const Plan plan = plan_sweep(modes(R"(["rank_local", "all_gather"])", "[2]"), 2);
  ASSERT_EQ(plan.steps.size(), 3U);
  EXPECT_FALSE(plan.steps[0].scenario.streams());
  EXPECT_EQ(plan.steps[0].scenario.parallel.data_parallel_size, 2);
  EXPECT_EQ(plan.steps[1].reference, 0U);
  EXPECT_EQ(plan.steps[2].reference, 0U);
}

TEST(Plan, ReferenceOfAnAccelerator_RunsOnIt) {
  Json document = small_document();
  document["platform"]["device"] = "cuda";
  document["matrix"] = {{"transfer", {"rank_local", "resident"}}};
  document["compare_with"] = "resident";
  const auto on_cuda = read_scenarios(document, {.file = "cuda.json", .run_seed = 0}).value();
  auto both = modes(R"(["resident"])", "[1]");
  both.insert(both.end(), on_cuda.begin(), on_cuda.end());
  const Plan plan = plan_sweep(both, 1, {.in_build = true, .count = 1});
  ASSERT_EQ(plan.steps.size(), 3U);
  for (const auto& step : plan.steps) {
    if (step.reference) {
      EXPECT_EQ(step.scenario.platform.device, "cuda");
      EXPECT_EQ(plan.steps[*step.reference].scenario.platform.device, "cuda");
    }
  }
  EXPECT_EQ(plan_sweep(both, 1).steps.size(), 1U) << "without accelerators only the CPU's run";
}

TEST(Plan, ReferenceWithFaults_IsNoReference) {
  Json document = small_document();
  document["matrix"] = {{"transfer", {"resident", "rank_local"}}};
  document["faults"]["slow_copy_ns"] = 1000;
  document["compare_with"] = "resident";
  const auto scenarios = read_scenarios(document, {.file = "small.json", .run_seed = 0}).value();
  const Plan plan = plan_sweep(scenarios, 1);
  ASSERT_EQ(plan.steps.size(), 3U);
  EXPECT_EQ(plan.steps[0].scenario.platform.slow_copy_ns, 0U);
  EXPECT_EQ(plan.steps[1].reference, 0U);
  EXPECT_EQ(plan.steps[2].reference, 0U);
}

TEST(Plan, Prompts_HaveReferencesOfTheirOwn) {
  Json document = small_document();
  document["matrix"] = {{"requests.prompt_tokens", {3, 4, {3}, {3, 3}}}};
  document["transfer"] = "rank_local";
  document["compare_with"] = "resident";
  const auto scenarios = read_scenarios(document, {.file = "small.json", .run_seed = 0}).value();
  const Plan plan = plan_sweep(scenarios, 1);
  EXPECT_EQ(plan.steps.size(), 8U) << "one resident run for each";
}

TEST(Plan, RefusedConfiguration_NeedsOneRankOnly) {
  Json document = small_document();
  document["topology"]["dp"] = 64;
  document["parallel"]["use_hsdp"] = true;
  EXPECT_EQ(ranks_needed(scenario_from(document)), 1);
}

TEST(PlanRun, WorldTooSmall_IsRefused) {
  const auto plan = plan_run(modes(R"(["resident"])", "[4]"), 2);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.refusal().code, codes::kWorldTooSmall);
  EXPECT_NE(plan.refusal().message().find("mpirun -np 4"), std::string::npos);
}

TEST(PlanRun, GapBetweenTopologyAndWorld_IsRefused) {
  const auto plan = plan_run(modes(R"(["resident"])", "[2]"), 4);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.refusal().code, codes::kTopologyMismatch);
}

TEST(PlanRun, LargestTopologyEqualsTheWorld_Runs) {
  EXPECT_EQ(plan_run(modes(R"(["resident"])", "[1, 2, 3]"), 3)->steps.size(), 3U);
}

}  // namespace
}  // namespace dlo::harness
