// Goal: the factory rules give the right outcome and code with and without a plan. Method: every
// combination of the facts, held against the reference's sentences.
#include "config/factory_rules.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace dlo::config {
namespace {

bool has_code(const FactoryVerdict& verdict, std::string_view code) {
  return std::any_of(verdict.findings.begin(), verdict.findings.end(),
                     [&](const Refusal& finding) { return finding.code == code; });
}

FactoryFacts planned() {
  return {.strategy = OffloadStrategy::kDistributedLayerwise,
          .has_plan = true,
          .plan_replaces_weights = true};
}

TEST(FactoryRules, PlanAndItsStrategy_MakeTheBackend) {
  const auto verdict = check_factory(planned());
  EXPECT_EQ(verdict.outcome, FactoryOutcome::kMakeBackend);
  EXPECT_TRUE(verdict.findings.empty());
}

TEST(FactoryRules, NoPlan_MakesTheBackendToo) {
  const auto verdict = check_factory({.strategy = OffloadStrategy::kDistributedLayerwise});
  EXPECT_EQ(verdict.outcome, FactoryOutcome::kMakeBackend);
}

TEST(FactoryRules, PlanWithAnotherStrategy_IsRefused) {
  for (const auto strategy :
       {OffloadStrategy::kNone, OffloadStrategy::kModelLevel, OffloadStrategy::kLayerwise}) {
    auto facts = planned();
    facts.strategy = strategy;
    const auto verdict = check_factory(facts);
    EXPECT_EQ(verdict.outcome, FactoryOutcome::kRefuse);
    EXPECT_TRUE(has_code(verdict, "CFG-30"));
  }
}

TEST(FactoryRules, PlatformCannotOffload_IsFatalOnlyBehindAPlanThatReplacesWeights) {
  auto facts = planned();
  facts.platform_can_offload = false;
  EXPECT_EQ(check_factory(facts).outcome, FactoryOutcome::kRefuse);
  EXPECT_TRUE(has_code(check_factory(facts), "CFG-31"));
  facts.plan_replaces_weights = false;
  EXPECT_EQ(check_factory(facts).outcome, FactoryOutcome::kRunWithoutOffload);
  facts.has_plan = false;
  EXPECT_EQ(check_factory(facts).outcome, FactoryOutcome::kRunWithoutOffload);
  EXPECT_TRUE(has_code(check_factory(facts), "CFG-31"));
}

TEST(FactoryRules, DeviceNotResolved_IsFatalOnlyBehindAPlanThatReplacesWeights) {
  auto facts = planned();
  facts.device_resolved = false;
  EXPECT_EQ(check_factory(facts).outcome, FactoryOutcome::kRefuse);
  EXPECT_TRUE(has_code(check_factory(facts), "CFG-32"));
  facts.has_plan = false;
  EXPECT_EQ(check_factory(facts).outcome, FactoryOutcome::kRunWithoutOffload);
}

TEST(FactoryRules, SeveralViolations_AreAllReportedByCode) {
  auto facts = planned();
  facts.strategy = OffloadStrategy::kNone;
  facts.platform_can_offload = false;
  facts.device_resolved = false;
  const auto verdict = check_factory(facts);
  ASSERT_EQ(verdict.findings.size(), 3U);
  EXPECT_EQ(verdict.findings[0].code, "CFG-30");
  EXPECT_EQ(verdict.findings[1].code, "CFG-31");
  EXPECT_EQ(verdict.findings[2].code, "CFG-32");
}

TEST(FactoryRules, NothingToOffload_IsNoConcernOfThePlatform) {
  const auto verdict = check_factory({.platform_can_offload = false, .device_resolved = false});
  EXPECT_EQ(verdict.outcome, FactoryOutcome::kMakeBackend);
}

}  // namespace
}  // namespace dlo::config
