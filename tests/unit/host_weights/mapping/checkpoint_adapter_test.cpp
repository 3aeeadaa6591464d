// Goal: only what an adapter stands for is mapped: q, k, v stored head by head, plain copies;
// everything else with a loader of its own needs the ordinary loader. Method: one model, its class
// and recipes changed.
#include "host_weights/adapters/checkpoint_adapter.h"

#include <gtest/gtest.h>

#include "tests/unit/host_weights/mapping/mapping_fixtures.h"

namespace dlo::host_weights {
namespace {

using test::DitSpec;

class AdapterTest : public testing::Test {
 protected:
  Result<contracts::HostWeightPlan> preflight() {
    files_ = std::make_unique<test::MemoryFileSystem>();
    test::write_sharded(*files_, "/m/transformer", test::stored_as_it_runs(dit_));
    return preflight_checkpoint(*files_, test::request_for(dit_));
  }
  void expect_custom_loader_refused() {
    const auto plan = preflight();
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.refusal().code, codes::kCheckpointPlanIncompatible);
    EXPECT_TRUE(plan.refusal().what.starts_with(plan_obstacles::kCustomLoader))
        << plan.refusal().message();
  }

  DitSpec dit_ = test::grouped_dit();
  std::unique_ptr<test::MemoryFileSystem> files_;
};

TEST_F(AdapterTest, GroupedQkv_IsPlannedWithItsRecipe) {
  const auto plan = preflight();
  ASSERT_TRUE(plan.ok()) << plan.refusal().message();
  const auto& qkv = plan->bindings().at("transformer.blocks.1.attn.qkv_proj.weight");
  EXPECT_EQ(qkv.recipe, contracts::grouped_qkv("blocks.1.attn.qkv_proj.weight", test::kHeads,
                                               test::kHeadRows, {test::kHidden}));
  const auto& norm = plan->bindings().at("transformer.blocks.1.norm1.weight");
  EXPECT_EQ(norm.recipe.copies.size(), 1U);
}

TEST_F(AdapterTest, ClassWithoutAdapter_IsRefused) {
  dit_.loading.model_class = "FluxTransformer2DModel";
  expect_custom_loader_refused();
}

TEST_F(AdapterTest, AnotherRecipeOfTheKnownClass_IsRefused) {
  dit_.loading.recipes["transformer.proj.weight"] =
      contracts::stacked_rows({{"proj.weight", 4}}, {test::kHidden});
  expect_custom_loader_refused();
}

TEST_F(AdapterTest, GroupedNameWithAnotherReorder_IsRefused) {
  auto& recipe = dit_.loading.recipes.at("transformer.blocks.0.attn.qkv_proj.weight");
  std::swap(recipe.copies[0].source, recipe.copies[1].source);
  expect_custom_loader_refused();
}

TEST_F(AdapterTest, GroupedNameWithoutRecipe_IsRefused) {
  dit_.loading.recipes.erase("transformer.blocks.0.attn.qkv_proj.weight");
  dit_.loading.custom_loaders.insert("transformer.blocks.0.attn.qkv_proj.weight");
  expect_custom_loader_refused();
}

TEST_F(AdapterTest, PassThrough_AllowsLoadersThatAreCopies) {
  dit_.loading.model_class = "Cosmos3Transformer3DModel";
  dit_.loading.recipes.clear();
  EXPECT_TRUE(preflight().ok());
  dit_.loading.recipes["transformer.proj.weight"] =
      contracts::stacked_rows({{"proj.weight", 4}}, {test::kHidden});
  expect_custom_loader_refused();
}

// Bug case PL-3: a fused tensor without an adapter must never be mapped as it lies.
TEST_F(AdapterTest, FusedFromThreeTensorsWithoutAdapter_GivesTheReason) {
  const std::string name = "transformer.blocks.0.attn1.to_qkv.weight";
  dit_ = test::plain_dit();
  auto stored = test::stored_as_it_runs(dit_);
  for (const char* part : {"q", "k", "v"}) {
    stored.push_back(test::drawn_tensor("blocks.0.attn1.to_" + std::string(part) + ".weight",
                                        DType::kBF16, {2, test::kHidden}));
  }
  dit_.blocks[0].tensors.push_back(test::spec(name, {6, test::kHidden}));
  dit_.loading.model_class = "WanTransformer3DModel";
  dit_.loading.recipes[name] = contracts::stacked_rows({{"blocks.0.attn1.to_q.weight", 2},
                                                        {"blocks.0.attn1.to_k.weight", 2},
                                                        {"blocks.0.attn1.to_v.weight", 2}},
                                                       {test::kHidden});
  test::MemoryFileSystem files;
  test::write_sharded(files, "/m/transformer", stored);
  const auto plan = preflight_checkpoint(files, test::request_for(dit_));
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.refusal().code, codes::kCheckpointPlanIncompatible);
  EXPECT_NE(plan.refusal().what.find(name), std::string::npos);
  EXPECT_NE(plan.refusal().what.find("loader of their own"), std::string::npos);
}

}  // namespace
}  // namespace dlo::host_weights
