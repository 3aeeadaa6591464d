// Goal: paths become scenario sets: files, folders, their order and digest; one bad file refuses
// the set; every scenario that this repository ships reads. Method: files in memory, and the
// repository's own folder.
#include "harness/scenario_files.h"

#include <gtest/gtest.h>

#include "base/codes.h"
#include "harness/plan.h"
#include "platform/posix/posix_file_system.h"
#include "tests/support/memory_file_system.h"
#include "tests/unit/harness/harness_fixtures.h"

namespace dlo::harness {
namespace {

std::string named(const std::string& name) {
  Json document = small_document();
  document["name"] = name;
  return document.dump();
}

Refusal refusal_of(const platform::FileSystem& files, const char* path) {
  const auto set = load_scenarios(files, {path}, 0);
  EXPECT_FALSE(set.ok());
  return set.ok() ? Refusal{} : set.refusal();
}

TEST(ScenarioFiles, Folder_IsReadInOrderWithSubfoldersWithoutTheSchema) {
  test_support::MemoryFileSystem files;
  files.put("/s/b.json", named("b"));
  files.put("/s/a.json", named("a"));
  files.put("/s/deep/c.json", named("c"));
  files.put("/s/schema.json", "{}");
  files.put("/s/README.md", "text");
  const auto set = load_scenarios(files, {"/s"}, 0);
  ASSERT_TRUE(set.ok()) << set.refusal().message();
  ASSERT_EQ(set->scenarios.size(), 3U);
  EXPECT_EQ(set->scenarios[0].name, "a");
  EXPECT_EQ(set->scenarios[1].name, "b");
  EXPECT_EQ(set->scenarios[2].name, "c");
}

TEST(ScenarioFiles, Digest_ChangesWithTheText) {
  test_support::MemoryFileSystem files;
  files.put("/s/a.json", named("a"));
  const std::string before = load_scenarios(files, {"/s"}, 0)->digest;
  EXPECT_EQ(load_scenarios(files, {"/s/a.json"}, 0)->digest, before);
  files.put("/s/a.json", named("b"));
  EXPECT_NE(load_scenarios(files, {"/s"}, 0)->digest, before);
}

TEST(ScenarioFiles, PathThatDoesNotExist_IsNamed) {
  const test_support::MemoryFileSystem files;
  const Refusal refusal = refusal_of(files, "/nowhere.json");
  EXPECT_EQ(refusal.code, codes::kFileNotFound);
  EXPECT_NE(refusal.message().find("/nowhere.json"), std::string::npos);
}

TEST(ScenarioFiles, FolderWithoutScenarios_IsRefused) {
  test_support::MemoryFileSystem files;
  files.put("/s/notes.txt", "text");
  EXPECT_EQ(refusal_of(files, "/s").code, codes::kFileNotFound);
}

TEST(ScenarioFiles, BrokenJson_IsOneLineWithTheFile) {
  test_support::MemoryFileSystem files;
  files.put("/s/a.json", "{\"name\": ");
  const Refusal refusal = refusal_of(files, "/s");
  EXPECT_EQ(refusal.code, codes::kInvalidValue);
  EXPECT_EQ(refusal.where, "/s/a.json");
  EXPECT_EQ(refusal.message().find('\n'), std::string::npos) << refusal.message();
}

TEST(ScenarioFiles, NumberThatNoTypeHolds_IsBrokenJsonToo) {
  test_support::MemoryFileSystem files;
  files.put("/s/a.json", R"({"name": 10e7145})");
  EXPECT_EQ(refusal_of(files, "/s").code, codes::kInvalidValue);
}

TEST(ScenarioFiles, TwoOfOneName_AreRefused) {
  test_support::MemoryFileSystem files;
  files.put("/s/a.json", named("same"));
  files.put("/s/b.json", named("same"));
  EXPECT_EQ(refusal_of(files, "/s").code, codes::kInvalidValue);
}

TEST(ScenarioFiles, CheckpointAboveTheFile_IsFound) {
  test_support::MemoryFileSystem files;
  Json document = small_document();
  document["model"] = {{"checkpoint", "models/tiny"}};
  files.put("/repo/scenarios/smoke/a.json", document.dump());
  files.put("/repo/models/tiny/model_index.json", "{}");
  const auto set = load_scenarios(files, {"/repo/scenarios/smoke"}, 0);
  ASSERT_TRUE(set.ok()) << set.refusal().message();
  EXPECT_EQ(set->scenarios[0].model.folder, "/repo/models/tiny");
}

TEST(ScenarioFiles, ShippedScenarios_AllReadAndFitEightRanks) {
  const platform::PosixFileSystem files;
  const auto set = load_scenarios(files, {DLO_SCENARIOS_DIR}, 0);
  ASSERT_TRUE(set.ok()) << set.refusal().message();
  const Plan plan = plan_sweep(set->scenarios, 8, {.in_build = true, .count = 8});
  EXPECT_GT(plan.steps.size(), 100U);
  for (const SkippedScenario& skipped : plan.skipped) {
    // Jobs of their own are skipped too, but not for want of ranks.
    EXPECT_FALSE(skipped.reason.starts_with("needs ")) << skipped.name << " " << skipped.reason;
  }
}

TEST(ScenarioFiles, ShippedScenariosOnFourRanks_OnlyThoseOfEightAreSkippedByName) {
  const platform::PosixFileSystem files;
  const auto set = load_scenarios(files, {DLO_SCENARIOS_DIR}, 0);
  ASSERT_TRUE(set.ok()) << set.refusal().message();
  const Plan plan = plan_sweep(set->scenarios, 4, {.in_build = true, .count = 4});
  std::size_t lacking = 0;
  for (const SkippedScenario& skipped : plan.skipped) {
    if (skipped.reason.starts_with("needs ")) {
      EXPECT_EQ(skipped.reason, "needs 8 ranks, world has 4") << skipped.name;
      EXPECT_NE(skipped.name.find("/dp8"), std::string::npos) << skipped.name;
      ++lacking;
    }
  }
  EXPECT_GT(lacking, 10U);
}

}  // namespace
}  // namespace dlo::harness
