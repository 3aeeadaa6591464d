// Goal: a scenario document means what scenarios/README.md says, and a wrong one is refused with
// the file, the place and the nearest name. Method: small documents, one change each.
#include <gtest/gtest.h>

#include "base/codes.h"
#include "tests/unit/harness/harness_fixtures.h"

namespace dlo::harness {
namespace {

Refusal refusal_of(const Json& document) {
  auto scenarios = read_scenarios(document, {.file = "small.json", .run_seed = 7});
  EXPECT_FALSE(scenarios.ok()) << document.dump();
  return scenarios.ok() ? Refusal{} : scenarios.refusal();
}

TEST(Scenario, SmallDocument_TakesDefaults) {
  const Scenario scenario = scenario_from(small_document());
  EXPECT_EQ(scenario.name, "small");
  EXPECT_EQ(scenario.options, config::OffloadOptions{});
  EXPECT_EQ(scenario.parallel, config::ParallelConfig{});
  EXPECT_EQ(scenario.requests.seed, 7U);
  EXPECT_EQ(scenario.model.generated->seed, 7U);
  EXPECT_EQ(scenario.model.generated->blocks, 3);
  EXPECT_EQ(scenario.expected, Expectation{});
  EXPECT_FALSE(scenario.compare_with_resident);
}

TEST(Scenario, Seeds_InTheFileWinOverTheRunsSeed) {
  Json document = small_document();
  document["model"]["seed"] = 11;
  document["requests"]["seed"] = 12;
  const Scenario scenario = scenario_from(document);
  EXPECT_EQ(scenario.model.generated->seed, 11U);
  EXPECT_EQ(scenario.requests.seed, 12U);
}

TEST(Scenario, PromptTokens_AreIdsOrTheirNumber) {
  Json document = small_document();
  EXPECT_FALSE(scenario_from(document).requests.has_prompt());
  document["requests"]["prompt_tokens"] = 9;
  EXPECT_EQ(scenario_from(document).requests.prompt_token_count, 9U);
  EXPECT_TRUE(scenario_from(document).requests.prompt_tokens.empty());
  document["requests"]["prompt_tokens"] = {17, 0, 1};
  EXPECT_EQ(scenario_from(document).requests.prompt_tokens, (std::vector<std::int64_t>{17, 0, 1}));
  EXPECT_EQ(scenario_from(document).requests.prompt_token_count, 0U);
  for (const Json& wrong : {Json(0), Json(4097), Json::array(), Json{-1}, Json{1.5}, Json("a"),
                            Json(std::vector<int>(4097, 1))}) {
    document["requests"]["prompt_tokens"] = wrong;
    EXPECT_EQ(refusal_of(document).code, codes::kInvalidValue) << wrong.dump().substr(0, 40);
  }
}

TEST(Scenario, Transfer_SetsBothOptions) {
  Json document = small_document();
  document["transfer"] = "rank_local";
  EXPECT_TRUE(scenario_from(document).streams());
  EXPECT_FALSE(scenario_from(document).options.dlo_use_allgather);
  document["transfer"] = "all_gather";
  EXPECT_TRUE(scenario_from(document).options.dlo_use_allgather);
  document["transfer"] = "resident";
  EXPECT_EQ(scenario_from(document).options, config::OffloadOptions{});
}

TEST(Scenario, Backing_SetsTheOptionOfWhatStreams) {
  Json document = small_document();
  document["transfer"] = "rank_local";
  EXPECT_TRUE(scenario_from(document).options.dlo_checkpoint_mmap);
  document["backing"] = "ordinary";
  EXPECT_FALSE(scenario_from(document).options.dlo_checkpoint_mmap);
  document["options"]["dlo_checkpoint_mmap"] = true;
  EXPECT_EQ(refusal_of(document).code, codes::kInvalidValue);
  document.erase("options");
  document["transfer"] = "resident";
  EXPECT_EQ(scenario_from(document).options, config::OffloadOptions{});
}

TEST(Scenario, TransferBesideItsOption_IsRefused) {
  Json document = small_document();
  document["transfer"] = "rank_local";
  document["options"]["dlo_use_allgather"] = true;
  EXPECT_EQ(refusal_of(document).code, codes::kInvalidValue);
}

TEST(Scenario, Topology_BecomesParallelConfig) {
  Json document = small_document();
  document["topology"] = {{"dp", 2}, {"sp", 3}, {"hsdp", 4}};
  document["parallel"]["ring_degree"] = 2;
  const Scenario scenario = scenario_from(document);
  EXPECT_EQ(scenario.parallel.data_parallel_size, 2);
  EXPECT_EQ(scenario.parallel.ulysses_degree, 3);
  EXPECT_EQ(scenario.parallel.ring_degree, 2);
  EXPECT_TRUE(scenario.parallel.use_hsdp);
  EXPECT_EQ(scenario.parallel.hsdp_shard_size, 4);
  EXPECT_EQ(topology_of(scenario.parallel).sp, 6);
  EXPECT_EQ(topology_of(scenario.parallel).hsdp, 4);
}

TEST(Scenario, Faults_ReachThePlatform) {
  Json document = small_document();
  document["faults"] = {{"slow_copy_ns", 5}, {"pin_fails_on_rank", 1}};
  document["platform"] = {{"device_budget_bytes", 100}, {"wait_timeout_s", 2.5}};
  const Scenario scenario = scenario_from(document);
  EXPECT_EQ(scenario.platform.slow_copy_ns, 5U);
  EXPECT_EQ(scenario.platform.pin_fails_on_rank, 1);
  EXPECT_EQ(scenario.platform.device_budget_bytes, 100U);
  EXPECT_EQ(scenario.platform.wait_timeout_s, 2.5);
}

TEST(Scenario, UnknownKeyAtTheTop_NamesFileAndNearest) {
  Json document = small_document();
  document["modell"] = 1;
  const Refusal refusal = refusal_of(document);
  EXPECT_EQ(refusal.code, codes::kUnknownOption);
  EXPECT_EQ(refusal.where, "small.json");
  EXPECT_NE(refusal.message().find("'model'"), std::string::npos) << refusal.message();
}

TEST(Scenario, UnknownKeyInside_NamesThePlace) {
  Json document = small_document();
  document["requests"]["step"] = 2;
  const Refusal refusal = refusal_of(document);
  EXPECT_EQ(refusal.code, codes::kUnknownOption);
  EXPECT_NE(refusal.message().find("/requests"), std::string::npos) << refusal.message();
  EXPECT_NE(refusal.message().find("'steps'"), std::string::npos) << refusal.message();
}

TEST(Scenario, UnknownOffloadOption_NamesNearest) {
  Json document = small_document();
  document["options"]["dlo_prefetch_dept"] = 1;
  const Refusal refusal = refusal_of(document);
  EXPECT_EQ(refusal.code, codes::kUnknownOption);
  EXPECT_EQ(refusal.where, "small.json");
  EXPECT_NE(refusal.message().find("dlo_prefetch_depth"), std::string::npos) << refusal.message();
}

TEST(Scenario, WrongType_NamesThePlace) {
  Json document = small_document();
  document["requests"]["steps"] = "two";
  const Refusal refusal = refusal_of(document);
  EXPECT_EQ(refusal.code, codes::kInvalidValue);
  EXPECT_NE(refusal.message().find("steps"), std::string::npos) << refusal.message();
  EXPECT_EQ(refusal.message().find('\n'), std::string::npos) << refusal.message();
}

TEST(Scenario, MissingExpectation_IsRefused) {
  Json document = small_document();
  document.erase("expect");
  EXPECT_EQ(refusal_of(document).code, codes::kInvalidValue);
}

TEST(Scenario, ModelWithPresetAndCheckpoint_IsRefused) {
  Json document = small_document();
  document["model"]["checkpoint"] = "x";
  EXPECT_EQ(refusal_of(document).code, codes::kInvalidValue);
  document["model"] = {{"dtype", "F32"}};
  EXPECT_EQ(refusal_of(document).code, codes::kInvalidValue);
}

TEST(Scenario, OutcomeWithoutItsCode_IsRefused) {
  Json document = small_document();
  document["expect"] = Json::parse(R"([{"outcome": "rejected"}])");
  EXPECT_EQ(refusal_of(document).code, codes::kInvalidValue);
  document["expect"] = Json::parse(R"([{"outcome": "runs", "code": "x"}])");
  EXPECT_EQ(refusal_of(document).code, codes::kInvalidValue);
}

TEST(Scenario, FirstRuleThatHolds_IsTheExpectation) {
  Json document = small_document();
  document["topology"]["dp"] = 2;
  document["expect"] = Json::parse(R"([
    {"when": {"dp": 1}, "outcome": "falls_back", "code": "one"},
    {"when": {"dp": [2, 3], "blocks": 3}, "outcome": "falls_back", "code": "two"},
    {"outcome": "runs"}
  ])");
  EXPECT_EQ(scenario_from(document).expected.code, "two");
  document["topology"]["dp"] = 4;
  EXPECT_EQ(scenario_from(document).expected.outcome, engine::Outcome::kRuns);
}

TEST(Scenario, NoRuleHolds_IsRefused) {
  Json document = small_document();
  document["expect"] = Json::parse(R"([{"when": {"dp": 9}, "outcome": "runs"}])");
  EXPECT_EQ(refusal_of(document).code, codes::kInvalidValue);
}

TEST(Scenario, ConditionOnUnknownPlace_NamesNearest) {
  Json document = small_document();
  document["expect"] = Json::parse(R"([{"when": {"block": 3}, "outcome": "runs"}])");
  const Refusal refusal = refusal_of(document);
  EXPECT_EQ(refusal.code, codes::kUnknownOption);
  EXPECT_NE(refusal.message().find("blocks"), std::string::npos) << refusal.message();
}

TEST(Scenario, MeasureOfUnknownMetric_NamesNearest) {
  Json document = small_document();
  document["measure"] = Json::parse(R"([{"metric": "h2d_byte", "reference": 1}])");
  const Refusal refusal = refusal_of(document);
  EXPECT_EQ(refusal.code, codes::kUnknownOption);
  EXPECT_NE(refusal.message().find("h2d_bytes"), std::string::npos) << refusal.message();
}

}  // namespace
}  // namespace dlo::harness
