// Goal: every tensor of the model has exactly one place, streamed or resident (PL-1).
// Method: plans over synthetic tables, whole ones and ones with a tensor taken away or doubled.
#include "backend/placement_plan.h"

#include <gtest/gtest.h>

#include "base/codes.h"
#include "synthetic/synthetic_model.h"

namespace dlo::backend {
namespace {

using synthetic::draw_shape;
using synthetic::SyntheticModel;

TEST(PlacementPlan, RingOfSeveralBlocks_IsStreamedWhole) {
  const SyntheticModel model(draw_shape(1, {3}));
  const auto plan = plan_placement(model.table(), {.stream = true});
  EXPECT_EQ(plan.block_count(Residency::kStreamed), 3U);
  EXPECT_EQ(plan.block_count(Residency::kResident), 0U);
  EXPECT_EQ(plan.dits[0].non_block.residency, Residency::kResident);
}

TEST(PlacementPlan, RingOfOneBlock_IsResidentBesideStreamedOnes) {
  const SyntheticModel model(draw_shape(1, {1, 2}));
  const auto plan = plan_placement(model.table(), {.stream = true});
  EXPECT_FALSE(plan.dits[0].streamed());
  EXPECT_TRUE(plan.dits[1].streamed());
}

TEST(PlacementPlan, WithoutStreaming_EverythingIsResident) {
  const SyntheticModel model(draw_shape(1, {5}));
  EXPECT_EQ(plan_placement(model.table(), {}).block_count(Residency::kStreamed), 0U);
}

TEST(PlacementPlan, DitWithoutBlocks_HasNonBlockChildrenAlone) {
  const SyntheticModel model(draw_shape(1, {0}));
  const auto plan = plan_placement(model.table(), {.stream = true});
  EXPECT_FALSE(plan.dits[0].streamed());
  EXPECT_TRUE(check_coverage(model.table(), plan).ok());
}

TEST(Coverage, PlanOfTheTable_IsComplete) {
  for (const bool stream : {false, true}) {
    const SyntheticModel model(draw_shape(2, {1, 4}));
    EXPECT_TRUE(
        check_coverage(model.table(), plan_placement(model.table(), {.stream = stream})).ok());
  }
}

TEST(Coverage, BlockLeftOut_IsRefusedWithItsNames) {
  const SyntheticModel model(synthetic::uniform_shape(2, 3, 64));
  auto plan = plan_placement(model.table(), {.stream = true});
  plan.dits[0].blocks.pop_back();
  const auto status = check_coverage(model.table(), plan);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.refusal().code, codes::kPlacementInvalid);
  EXPECT_NE(status.refusal().what.find("ring0.blocks.2.0"), std::string::npos);
}

TEST(Coverage, BlockPlacedTwice_IsRefusedWithItsNames) {
  const SyntheticModel model(synthetic::uniform_shape(2, 3, 64));
  auto plan = plan_placement(model.table(), {.stream = true});
  plan.dits[0].blocks.push_back(plan.dits[0].blocks.front());
  const auto status = check_coverage(model.table(), plan);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.refusal().what.find("two places: ring0.blocks.0.0"), std::string::npos)
      << status.refusal().what;
}

TEST(Coverage, PlanOfAnotherModel_IsRefused) {
  const SyntheticModel model(synthetic::uniform_shape(2, 3, 64));
  const SyntheticModel larger(synthetic::uniform_shape(2, 4, 64));
  EXPECT_FALSE(
      check_coverage(model.table(), plan_placement(larger.table(), {.stream = true})).ok());
}

}  // namespace
}  // namespace dlo::backend
