// Goal: the section `faults` reads into the platform's specification, mistakes are refused with the
// nearest name. Method: small documents.
#include "harness/scenario_faults.h"

#include <gtest/gtest.h>

#include "base/codes.h"
#include "tests/unit/harness/harness_fixtures.h"

namespace dlo::harness {
namespace {

Json with_faults(const char* faults) {
  Json document = small_document();
  document["faults"] = Json::parse(faults);
  return document;
}

engine::PlatformSpec spec_of(const char* faults) {
  return scenario_from(with_faults(faults)).platform;
}

Refusal refusal_of(const char* faults) {
  const auto read = read_scenarios(with_faults(faults), {.file = "bad.json", .run_seed = 0});
  EXPECT_FALSE(read.ok());
  return read.ok() ? Refusal{} : read.refusal();
}

TEST(ScenarioFaults, Absent_MeansNone) {
  EXPECT_FALSE(has_faults(scenario_from(small_document()).platform));
}

TEST(ScenarioFaults, Crash_HasRankKindPlaceAndNumber) {
  const auto dies = spec_of(R"({"rank_dies": {"rank": 2, "where": "in_gather", "nth": 4}})");
  ASSERT_TRUE(dies.crash.has_value());
  EXPECT_EQ(dies.crash->rank, 2);
  EXPECT_EQ(dies.crash->kind, platform::CrashKind::kDies);
  EXPECT_EQ(dies.crash->place, platform::CrashPlace::kInGather);
  EXPECT_EQ(dies.crash->nth, 4U);
  EXPECT_TRUE(has_faults(dies));
  const auto stops = spec_of(R"({"rank_stops": {"rank": 0, "where": "disable"}})");
  EXPECT_EQ(stops.crash->kind, platform::CrashKind::kStops);
  EXPECT_EQ(stops.crash->nth, 1U);
}

TEST(ScenarioFaults, PlanAndRanks_AreRead) {
  const auto spec = spec_of(
      R"({"plan": {"seed": 5, "rules": [{"call": "gather", "rank": 1, "nth": 2}]},
          "slow_copy_ns": 10, "slow_copy_on_rank": 1, "schedule_differs_on_rank": 0})");
  ASSERT_EQ(spec.faults.rules.size(), 1U);
  EXPECT_EQ(spec.faults.rules[0].call, platform::SeamCall::kGather);
  EXPECT_EQ(spec.faults.seed, 5U);
  EXPECT_EQ(spec.slow_copy_on_rank, 1);
  EXPECT_EQ(spec.schedule_differs_on_rank, 0);
}

TEST(ScenarioFaults, SlowLinkAndSlowDisk_AreFaultsThatCanBeLeftOut) {
  for (const char* faults :
       {R"({"slow_gather_ns": 5, "slow_gather_on_rank": 1})", R"({"slow_file_ns": 5})",
        R"({"slow_copy_ns": 5})", R"({"pin_fails_on_rank": 0})",
        R"({"plan": {"rules": [{"call": "clock", "nth": 1}]}})",
        R"({"rank_dies": {"rank": 1, "where": "copy"}})"}) {
    const auto spec = spec_of(faults);
    EXPECT_TRUE(has_faults(spec)) << faults;
    EXPECT_FALSE(has_faults(without_faults(spec))) << faults;
  }
  const auto link = spec_of(R"({"slow_gather_ns": 5, "slow_gather_on_rank": 1})");
  EXPECT_EQ(link.slow_gather_ns, 5U);
  EXPECT_EQ(link.slow_gather_on_rank, 1);
}

TEST(ScenarioFaults, MatrixPath_ReachesIntoThePlan) {
  Json document = with_faults(R"({"plan": {"rules": [{"call": "exchange", "nth": 1}]}})");
  document["matrix"] = {{"faults.plan.rules.0.nth", {1, 2}}};
  const auto read = read_scenarios(document, {.file = "m.json", .run_seed = 0});
  ASSERT_TRUE(read.ok()) << read.refusal().message();
  ASSERT_EQ(read.value().size(), 2U);
  EXPECT_EQ(read.value()[1].name, "small/nth=2");
  EXPECT_EQ(read.value()[1].platform.faults.rules[0].nth, 2U);
}

TEST(ScenarioFaults, UnknownCall_NamesNearest) {
  const Refusal refusal = refusal_of(R"({"plan": {"rules": [{"call": "gater"}]}})");
  EXPECT_NE(refusal.message().find("'gather'"), std::string::npos) << refusal.message();
  EXPECT_NE(refusal.message().find("bad.json"), std::string::npos) << refusal.message();
}

TEST(ScenarioFaults, UnknownKey_NamesNearest) {
  const Refusal refusal = refusal_of(R"({"rank_dies": {"rank": 1, "wher": "enable"}})");
  EXPECT_EQ(refusal.code, codes::kUnknownOption);
  EXPECT_NE(refusal.message().find("'where'"), std::string::npos) << refusal.message();
}

TEST(ScenarioFaults, UnknownPlace_IsRefused) {
  EXPECT_EQ(refusal_of(R"({"rank_dies": {"rank": 1, "where": "lunch"}})").code,
            codes::kInvalidValue);
}

TEST(ScenarioFaults, BothKindsOfCrash_AreRefused) {
  const Refusal refusal = refusal_of(
      R"({"rank_dies": {"rank": 1, "where": "copy"}, "rank_stops": {"rank": 0, "where": "copy"}})");
  EXPECT_NE(refusal.message().find("rank_dies and rank_stops both"), std::string::npos);
}

}  // namespace
}  // namespace dlo::harness
