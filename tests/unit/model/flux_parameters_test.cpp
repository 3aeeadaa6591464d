// Goal: the parameter table of a FLUX.1 transformer is that of the published checkpoint, in one
// ring over both block lists; fused projections are stated as recipes of its keys. Method: the list
// that the reference class gave against make_flux; bindings, recipes and config errors by hand.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/codes.h"
#include "base/json.h"
#include "contracts/block_layout.h"
#include "model/model_factory.h"
#include "tests/unit/model/listing.h"

namespace dlo::model {
namespace {

nlohmann::json tiny_flux_config() {
  return {{"_class_name", "FluxTransformer2DModel"},
          {"in_channels", 16},
          {"num_layers", 2},
          {"num_single_layers", 3},
          {"attention_head_dim", 16},
          {"num_attention_heads", 2},
          {"joint_attention_dim", 10},
          {"pooled_projection_dim", 6},
          {"guidance_embeds", true},
          {"axes_dims_rope", {4, 4, 8}}};
}

ModelOptions bf16() {
  ModelOptions options;
  options.runtime_dtype = DType::kBF16;
  return options;
}

TEST(FluxParameters, PublishedDev_NamesShapesAndBytesEqualTheList) {
  const auto model = make_flux({{"guidance_embeds", true}}, bf16()).value();
  const test::Listing listing = test::listing_of(*model);
  EXPECT_EQ(listing.size(), 1160U);
  EXPECT_EQ(listing, test::read_listing("flux.1_dev.tsv"));
  EXPECT_EQ(test::tensor_bytes_of(*model), 23'802'816'640U);
  const contracts::BlockLayout dual(model->spec().blocks.front());
  const contracts::BlockLayout single(model->spec().blocks.back());
  EXPECT_NEAR(static_cast<double>(dual.bytes()) / static_cast<double>(single.bytes()), 2.40, 0.005);
}

TEST(FluxParameters, WithoutGuidance_LeavesItsEmbedderOut) {
  const auto model = make_flux(nlohmann::json::object(), bf16()).value();
  EXPECT_EQ(test::listing_of(*model).size(), 1156U);
  EXPECT_FALSE(model->geometry().embeds_guidance);
}

TEST(FluxParameters, BothBlockLists_AreOneRing) {
  const auto model = make_flux(tiny_flux_config(), {}).value();
  const auto& spec = model->spec();
  ASSERT_EQ(spec.blocks.size(), 5U);
  EXPECT_EQ(spec.blocks[1].name, "transformer.transformer_blocks.1");
  EXPECT_EQ(spec.blocks[2].name, "transformer.single_transformer_blocks.0");
  EXPECT_EQ(spec.blocks[1].tensors.size(), 32U);
  EXPECT_EQ(spec.blocks[2].tensors.size(), 14U);
  EXPECT_EQ(spec.non_block.tensors.size(), 20U);
  for (const auto& block : spec.blocks) {
    EXPECT_NE(block.binding, nullptr);
  }
  EXPECT_TRUE(spec.loading.recipes.empty());
  EXPECT_EQ(spec.loading.model_class, "FluxTransformer2DModel");
  EXPECT_TRUE(model->child_rings().empty());
}

TEST(FluxParameters, FusedProjections_StackTheCheckpointsKeys) {
  ModelOptions options;
  options.fused_projections = true;
  const auto model = make_flux(tiny_flux_config(), options).value();
  const auto& spec = model->spec();
  EXPECT_EQ(spec.blocks[0].tensors.size(), 24U);
  EXPECT_EQ(spec.blocks[2].tensors.size(), 10U);
  // Weight and bias of two projections in each dual block, of one in each single one.
  EXPECT_EQ(spec.loading.recipes.size(), 2U * 4U + 3U * 2U);
  const std::string name = "transformer.transformer_blocks.1.attn.add_kv_proj.weight";
  const auto& recipe = spec.loading.recipes.at(name);
  ASSERT_EQ(recipe.copies.size(), 3U);
  EXPECT_EQ(recipe.copies[1].source_key, "transformer_blocks.1.attn.add_k_proj.weight");
  EXPECT_EQ(recipe.copies[1].destination.start, (std::vector<std::int64_t>{32, 0}));
  EXPECT_TRUE(contracts::check_recipe(recipe, {96, 32}).ok());
  EXPECT_TRUE(spec.loading.needs_adapter(name));
}

TEST(FluxConfig, BadField_IsRefusedWithCode) {
  const struct {
    const char* field;
    nlohmann::json value;
    std::string_view code;
  } cases[] = {
      {"num_layers", 0, codes::kCheckpointInvalid},
      {"num_single_layers", "two", codes::kCheckpointInvalid},
      {"axes_dims_rope", {4, 4}, codes::kCheckpointInvalid},
      {"axes_dims_rope", {4, 4, 4}, codes::kCheckpointInvalid},
      {"axes_dims_rope", {3, 5, 8}, codes::kCheckpointInvalid},
      {"guidance_embeds", 1, codes::kCheckpointInvalid},
      {"patch_size", 2, codes::kNotInThisProduct},
      {"_class_name", "WanTransformer3DModel", codes::kNotInThisProduct},
  };
  for (const auto& bad : cases) {
    auto config = tiny_flux_config();
    config[bad.field] = bad.value;
    const auto made = make_flux(config, {});
    ASSERT_FALSE(made.ok()) << bad.field << " " << bad.value;
    EXPECT_EQ(made.refusal().code, bad.code) << bad.field << " " << bad.value;
  }
  EXPECT_FALSE(make_flux(nlohmann::json::array(), {}).ok());
}

}  // namespace
}  // namespace dlo::model
