// Goal: rules are distinct, in order, and speak in full: offending value, option, what to do.
// Method: facts over the whole table, and the messages of the rules that carry values. What each
// rule refuses is held against a second statement in tests/property/config.
#include "config/rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "base/codes.h"
#include "base/error.h"

namespace dlo::config {
namespace {

std::vector<std::string> construct_messages(const Configuration& configuration) {
  std::vector<std::string> messages;
  for (const auto& refusal : check_stage(Stage::kConstruct, configuration)) {
    messages.push_back(refusal.message());
  }
  return messages;
}

TEST(Rules, Codes_AreDistinctAndAscending) {
  std::string_view before;
  for (const auto& rule : configuration_rules()) {
    EXPECT_EQ(rule.code.substr(0, 4), "CFG-");
    EXPECT_EQ(rule.code.size(), 6U);
    EXPECT_EQ(rule.code.find_first_not_of("0123456789", 4), std::string_view::npos) << rule.code;
    EXPECT_LT(before, rule.code);
    before = rule.code;
  }
}

TEST(Rules, EveryConstructAndNormaliseRuleOfTheReference_IsThere) {
  std::set<std::string_view> codes;
  for (const auto& rule : configuration_rules()) {
    codes.insert(rule.code);
  }
  for (const auto* code :
       {"CFG-01", "CFG-02", "CFG-03", "CFG-04", "CFG-05", "CFG-06", "CFG-07", "CFG-10", "CFG-11",
        "CFG-12", "CFG-13", "CFG-14", "CFG-15", "CFG-16", "CFG-20", "CFG-21", "CFG-22"}) {
    EXPECT_EQ(codes.count(code), 1U) << code;
  }
}

TEST(Rules, MissingFeatures_AreDistinctAndAtTheEngine) {
  std::set<std::string_view> subjects;
  for (const auto& rule : unsupported_rules()) {
    EXPECT_EQ(rule.code, codes::kNotInThisProduct);
    EXPECT_EQ(rule.stage, Stage::kEngine);
    EXPECT_TRUE(subjects.insert(rule.subject).second) << rule.subject;
    EXPECT_FALSE(rule.action.empty());
  }
}

TEST(CheckStage, Defaults_PassEveryStage) {
  for (const auto stage :
       {Stage::kConstruct, Stage::kNormalise, Stage::kFactory, Stage::kLoader, Stage::kEngine}) {
    EXPECT_TRUE(check_stage(stage, {}).empty()) << stage_name(stage);
  }
}

TEST(CheckStage, SeveralViolations_AllComeSortedByCode) {
  Configuration configuration;
  configuration.options.dlo_prefetch_depth = 9;
  configuration.options.dlo_enable_runtime_cache = true;
  configuration.options.dlo_runtime_cache_lock_timeout = 0;
  configuration.parallel.data_parallel_size = 0;
  std::vector<std::string> codes;
  for (const auto& refusal : check_stage(Stage::kConstruct, configuration)) {
    codes.push_back(refusal.code);
  }
  EXPECT_EQ(codes, (std::vector<std::string>{"CFG-01", "CFG-03", "CFG-04", "CFG-10", "CFG-60"}));
}

TEST(CheckStage, Message_SaysWhatWhereAndWhatToDo) {
  Configuration configuration;
  configuration.options.dlo_chunk_bytes = 100;
  EXPECT_EQ(construct_messages(configuration),
            (std::vector<std::string>{
                "chunk of 100 bytes is no multiple of 256 [CFG-61] (dlo_chunk_bytes); give a "
                "multiple of 256, or 0 for the whole block"}));
}

TEST(CheckStage, NanPinLimit_BreaksBothOfItsRules) {
  Configuration configuration;
  configuration.options.dlo_runtime_cache_pin_limit_gib = std::nan("");
  const auto messages = construct_messages(configuration);
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_NE(messages[0].find("pin limit of nan GiB"), std::string::npos);
  EXPECT_NE(messages[1].find("[CFG-05]"), std::string::npos);
}

TEST(CheckStage, ExtremeSizes_AreJudgedWithoutOverflow) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  Configuration configuration;
  configuration.parallel.use_hsdp = true;
  configuration.parallel.ulysses_degree = 3;
  configuration.parallel.ring_degree = kMax;
  configuration.parallel.hsdp_shard_size = kMax;
  configuration.parallel.hsdp_replicate_size = kMax;
  configuration.neighbours.num_gpus = kMax;
  EXPECT_EQ(construct_messages(configuration).size(), 1U);  // CFG-16
  configuration.parallel.ring_degree = kMin;
  configuration.options.dlo_chunk_bytes = kMin;
  configuration.options.dlo_resident_layers = kMin;
  const auto messages = construct_messages(configuration);
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_NE(messages[0].find("[CFG-10]"), std::string::npos);
  EXPECT_NE(messages[1].find("[CFG-61]"), std::string::npos);
}

TEST(CheckStage, FewerDevicesThanRanks_NamesBoth) {
  Configuration configuration;
  configuration.parallel.data_parallel_size = 4;
  configuration.neighbours.num_gpus = 2;
  const auto messages = construct_messages(configuration);
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_NE(messages[0].find("2 devices for a topology of 4 ranks [CFG-07]"), std::string::npos);
}

TEST(StageName, EveryStage_HasItsName) {
  EXPECT_EQ(stage_name(Stage::kConstruct), "construct");
  EXPECT_EQ(stage_name(Stage::kNormalise), "normalise");
  EXPECT_EQ(stage_name(Stage::kFactory), "factory");
  EXPECT_EQ(stage_name(Stage::kLoader), "loader");
  EXPECT_EQ(stage_name(Stage::kEngine), "engine");
  EXPECT_THROW(static_cast<void>(stage_name(static_cast<Stage>(9))), LogicError);
}

}  // namespace
}  // namespace dlo::config
