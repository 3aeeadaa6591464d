// Goal: a plan cannot exist that breaks its invariants, and is handed over exactly once.
// Method: one valid plan, one fact flipped at a time.
#include "contracts/host_weight_plan.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace dlo::contracts {
namespace {

HostWeightPlanParts valid_parts() {
  HostWeightPlanParts parts;
  parts.bindings["transformer.a"] = {
      "/m/a.safetensors", DType::kF32, {2, 3}, CopyRecipe::identity("a", {2, 3})};
  parts.planned_source_prefixes = {"transformer."};
  return parts;
}

TEST(HostWeightPlan, ValidParts_AreKept) {
  const HostWeightPlan plan(valid_parts());
  EXPECT_EQ(plan.backing(), Backing::kCheckpointMmap);
  EXPECT_EQ(plan.bindings().at("transformer.a").source_key(), "a");
  EXPECT_TRUE(plan.planned_source_prefixes().contains("transformer."));
  EXPECT_TRUE(plan.layout_key().empty());
  EXPECT_FALSE(plan.post_load_complete());
}

TEST(HostWeightPlan, OrdinaryBacking_IsAProgrammersError) {
  auto parts = valid_parts();
  parts.backing = Backing::kOrdinary;
  EXPECT_THROW(HostWeightPlan{std::move(parts)}, LogicError);
}

TEST(HostWeightPlan, NoBinding_IsAProgrammersError) {
  auto parts = valid_parts();
  parts.bindings.clear();
  EXPECT_THROW(HostWeightPlan{std::move(parts)}, LogicError);
}

TEST(HostWeightPlan, CheckpointWithLayoutKey_IsAProgrammersError) {
  auto parts = valid_parts();
  parts.layout_key = "key";
  EXPECT_THROW(HostWeightPlan{std::move(parts)}, LogicError);
}

TEST(HostWeightPlan, CheckpointWithFinalBytes_IsAProgrammersError) {
  auto parts = valid_parts();
  parts.post_load_complete = true;
  EXPECT_THROW(HostWeightPlan{std::move(parts)}, LogicError);
}

TEST(HostWeightPlan, BindingWithoutFile_IsAProgrammersError) {
  auto parts = valid_parts();
  parts.bindings.begin()->second.file_path.clear();
  EXPECT_THROW(HostWeightPlan{std::move(parts)}, LogicError);
}

TEST(HostWeightPlan, RecipeWithAHole_IsAProgrammersError) {
  auto parts = valid_parts();
  parts.bindings.begin()->second.shape = {3, 3};
  EXPECT_THROW(HostWeightPlan{std::move(parts)}, LogicError);
}

TEST(HostWeightPlan, RecipeOfTwoTensors_IsAProgrammersError) {
  auto parts = valid_parts();
  auto& recipe = parts.bindings.begin()->second.recipe;
  recipe.copies = {{"a", {{0, 0}, {1, 3}}, {{0, 0}, {1, 3}}},
                   {"b", {{0, 0}, {1, 3}}, {{1, 0}, {1, 3}}}};
  EXPECT_THROW(HostWeightPlan{std::move(parts)}, LogicError);
}

TEST(HostWeightPlan, RecipeThatReadsBehindItsTensor_IsAProgrammersError) {
  auto parts = valid_parts();
  parts.bindings.begin()->second.recipe.copies.front().source.start = {1, 0};
  EXPECT_THROW(HostWeightPlan{std::move(parts)}, LogicError);
}

TEST(PlanHolder, SecondTake_IsAProgrammersError) {
  PlanHolder holder;
  holder.put(HostWeightPlan(valid_parts()));
  EXPECT_TRUE(holder.holds_plan());
  EXPECT_EQ(holder.take().bindings().size(), 1U);
  EXPECT_FALSE(holder.holds_plan());
  EXPECT_THROW(static_cast<void>(holder.take()), LogicError);
}

TEST(PlanHolder, MovedOn_LeavesNoPlanBehind) {
  PlanHolder first;
  first.put(HostWeightPlan(valid_parts()));
  PlanHolder second(std::move(first));
  EXPECT_FALSE(first.holds_plan());  // NOLINT(bugprone-use-after-move): what is behind is the point
  PlanHolder third;
  third = std::move(second);
  EXPECT_FALSE(second.holds_plan());  // NOLINT(bugprone-use-after-move): the same
  EXPECT_THROW(static_cast<void>(second.take()), LogicError);
  EXPECT_EQ(third.take().bindings().size(), 1U);
}

TEST(PlanHolder, TakeWithoutPut_IsAProgrammersError) {
  PlanHolder holder;
  EXPECT_THROW(static_cast<void>(holder.take()), LogicError);
}

TEST(PlanHolder, SecondPut_IsAProgrammersError) {
  PlanHolder holder;
  holder.put(HostWeightPlan(valid_parts()));
  static_cast<void>(holder.take());
  EXPECT_THROW(holder.put(HostWeightPlan(valid_parts())), LogicError);
}

}  // namespace
}  // namespace dlo::contracts
