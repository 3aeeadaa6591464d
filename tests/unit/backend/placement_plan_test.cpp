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

std::vector<Residency> residencies(const DitPlacement& dit) {
  std::vector<Residency> all;
  for (const auto& block : dit.blocks) {
    all.push_back(block.residency);
  }
  return all;
}

TEST(PlacementPlan, ResidentLayers_AreTheLeadingBlocksOfEligibleDitsAlone) {
  const SyntheticModel model(draw_shape(1, {4, 4}));
  const PlacementRules rules{
      .stream = true, .resident_layers = 2, .offload_plan = {.resident_dit_paths = {"ring1"}}};
  const auto plan = plan_placement(model.table(), rules);
  EXPECT_EQ(plan.dits[0].leading_count(), 0U);
  EXPECT_EQ(residencies(plan.dits[1]),
            (std::vector<Residency>{Residency::kStageResident, Residency::kStageResident,
                                    Residency::kStreamed, Residency::kStreamed}));
  EXPECT_TRUE(check_coverage(model.table(), plan).ok());
}

TEST(PlacementPlan, OneBlockBehindTheLeadingOnes_JoinsThem) {
  const SyntheticModel model(draw_shape(1, {4}));
  for (const std::uint32_t layers : {3U, 4U, 9U}) {
    const PlacementRules rules{.stream = true,
                               .resident_layers = layers,
                               .offload_plan = {.resident_dit_paths = {"ring0"}}};
    const auto plan = plan_placement(model.table(), rules);
    EXPECT_EQ(plan.dits[0].leading_count(), 4U) << layers;
    EXPECT_FALSE(plan.dits[0].streamed());
    EXPECT_TRUE(plan.dits[0].offloaded());
  }
}

// A table of a DiT and a child of it with two blocks of `block_bytes` each.
struct WithChild {
  explicit WithChild(std::uint64_t block_bytes) {
    for (auto* block : {&child.blocks[0], &child.blocks[1]}) {
      block->tensors.push_back({block->name + ".weight",
                                contracts::TensorKind::kParameter,
                                DType::kU8,
                                {static_cast<std::int64_t>(block_bytes)},
                                {}});
    }
    child.parent = "transformer";
  }
  [[nodiscard]] contracts::ParameterTable table() const {
    return {
        {contracts::DitSpec{"transformer", {{"b0", {}, nullptr}, {"b1", {}, nullptr}}, {}}, child}};
  }
  contracts::DitSpec child{
      "transformer.token_refiner", {{"r0", {}, nullptr}, {"r1", {}, nullptr}}, {}};
};

TEST(PlacementPlan, ChildWithBlocksOfItsOwn_StreamsAboveTheThresholdAlone) {
  const auto above = WithChild(kSubmoduleStreamBytes / 2 + 256).table();
  EXPECT_TRUE(plan_placement(above, {.stream = true}).dits[1].streamed());
  const auto at = WithChild(kSubmoduleStreamBytes / 2).table();
  const auto plan = plan_placement(at, {.stream = true});
  EXPECT_FALSE(plan.dits[1].offloaded()) << "resident, as other non-block children";
  EXPECT_TRUE(plan.dits[0].streamed());
}

TEST(PlacementPlan, ChildThatTheOffloadPlanNames_StreamsWhateverItsSize) {
  const auto table = WithChild(256).table();
  const PlacementRules rules{.stream = true,
                             .offload_plan = {.offload_submodules = {{"token_refiner", "blocks"}}}};
  EXPECT_TRUE(plan_placement(table, rules).dits[1].streamed());
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
