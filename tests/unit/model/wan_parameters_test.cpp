// Goal: the parameter table of a Wan transformer is that of the published checkpoints. Method:
// names, dtypes and shapes of three published shapes, listed by the reference class, against
// make_wan; bindings and config errors by hand.

#include <gtest/gtest.h>

#include <string>

#include "base/codes.h"
#include "base/json.h"
#include "model/model_factory.h"
#include "tests/unit/model/listing.h"
#include "tests/unit/model/tiny_wan.h"

namespace dlo::model {
namespace {

using test::Listing;
using test::listing_of;
using test::read_listing;

std::unique_ptr<DitModel> published(std::int64_t heads, std::int64_t ffn, std::int64_t blocks,
                                    const ModelOptions& options = {}) {
  return make_wan({{"num_attention_heads", heads}, {"ffn_dim", ffn}, {"num_layers", blocks}},
                  options)
      .value();
}

TEST(WanParameters, Published1_3B_NamesAndShapesEqualTheList) {
  const auto model = published(12, 8960, 30);
  const Listing listing = listing_of(*model);
  EXPECT_EQ(listing.size(), 825U);
  EXPECT_EQ(listing, read_listing("wan2.1_t2v_1.3b.tsv"));
}

TEST(WanParameters, Published14B_NamesAndShapesEqualTheList) {
  const auto model = published(40, 13824, 40);
  const Listing listing = listing_of(*model);
  EXPECT_EQ(listing.size(), 1095U);
  EXPECT_EQ(listing, read_listing("wan2.1_t2v_14b.tsv"));
}

TEST(WanParameters, Published14BMixed_DtypesEqualTheList) {
  ModelOptions options;
  options.runtime_dtype = DType::kBF16;
  EXPECT_EQ(listing_of(*published(40, 13824, 40, options)),
            read_listing("wan2.1_t2v_14b_mixed_bf16.tsv"));
}

TEST(WanParameters, Bf16WithoutFp32Modules_EveryTensorIsBf16) {
  ModelOptions options;
  options.runtime_dtype = DType::kBF16;
  options.keep_fp32_modules = false;
  for (const auto& [name, listed] : listing_of(*test::make_tiny_wan(2, options))) {
    EXPECT_EQ(listed.dtype, "BF16") << name;
  }
}

TEST(WanParameters, Blocks_AreNamedInRingOrderWithBindings) {
  const auto model = test::make_tiny_wan(3);
  ASSERT_EQ(model->spec().blocks.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& block = model->spec().blocks[i];
    EXPECT_EQ(block.name, "transformer.blocks." + std::to_string(i));
    EXPECT_EQ(block.tensors.size(), 27U);
    EXPECT_NE(block.binding, nullptr);
  }
  EXPECT_EQ(model->spec().non_block.tensors.size(), 15U);
  EXPECT_NE(model->spec().non_block.binding, nullptr);
}

TEST(WanParameters, ComponentName_PrefixesEveryTensor) {
  ModelOptions options;
  options.component = "transformer_2";
  const auto model = test::make_tiny_wan(1, options);
  EXPECT_EQ(model->spec().name, "transformer_2");
  EXPECT_EQ(model->spec().blocks[0].tensors[1].name, "transformer_2.blocks.0.attn1.to_q.weight");
}

TEST(WanParameters, FusedProjections_StackTheSelfAttentionAlone) {
  ModelOptions options;
  options.fused_projections = true;
  const auto model = make_wan(test::tiny_wan_config(2), options).value();
  const auto& spec = model->spec();
  EXPECT_EQ(spec.blocks[0].tensors.size(), 23U);
  EXPECT_EQ(spec.blocks[0].tensors[1].name, "transformer.blocks.0.attn1.to_qkv.weight");
  EXPECT_EQ(spec.loading.recipes.size(), 4U);
  const auto& recipe = spec.loading.recipes.at("transformer.blocks.1.attn1.to_qkv.bias");
  ASSERT_EQ(recipe.copies.size(), 3U);
  EXPECT_EQ(recipe.copies[2].source_key, "blocks.1.attn1.to_v.bias");
  EXPECT_TRUE(contracts::check_recipe(recipe, {72}).ok());
}

struct BadConfig {
  const char* field;
  nlohmann::json value;
  std::string_view code;
};

TEST(WanConfig, BadField_IsRefusedWithCodeAndName) {
  const std::vector<BadConfig> cases = {
      {"num_layers", 0, codes::kCheckpointInvalid},
      {"num_layers", "three", codes::kCheckpointInvalid},
      {"ffn_dim", -4, codes::kCheckpointInvalid},
      {"ffn_dim", 1.5, codes::kCheckpointInvalid},
      {"ffn_dim", 18446744073709551615ULL, codes::kCheckpointInvalid},
      {"patch_size", {1, 2}, codes::kCheckpointInvalid},
      {"patch_size", {1, 2, 0}, codes::kCheckpointInvalid},
      {"eps", 0, codes::kCheckpointInvalid},
      {"cross_attn_norm", 1, codes::kCheckpointInvalid},
      {"attention_head_dim", 7, codes::kCheckpointInvalid},
      {"freq_dim", 9, codes::kCheckpointInvalid},
      {"image_dim", 1280, codes::kNotInThisProduct},
      {"added_kv_proj_dim", 5120, codes::kNotInThisProduct},
      {"qk_norm", "rms_norm", codes::kNotInThisProduct},
      {"_class_name", "FluxTransformer2DModel", codes::kNotInThisProduct},
  };
  for (const auto& bad : cases) {
    nlohmann::json config = test::tiny_wan_config(1);
    config[bad.field] = bad.value;
    const auto made = make_wan(config, {});
    ASSERT_FALSE(made.ok()) << bad.field << " " << bad.value;
    EXPECT_EQ(made.refusal().code, bad.code) << bad.field << " " << bad.value;
  }
  EXPECT_FALSE(make_wan(nlohmann::json::array(), {}).ok());
}

TEST(WanConfig, UnsupportedDtypes_AreRefused) {
  ModelOptions options;
  options.runtime_dtype = DType::kF16;
  EXPECT_EQ(make_wan(test::tiny_wan_config(1), options).refusal().code, codes::kNotInThisProduct);
  options = {};
  options.compute_dtype = DType::kF16;
  EXPECT_EQ(make_wan(test::tiny_wan_config(1), options).refusal().code, codes::kNotInThisProduct);
}

TEST(WanConfig, NullOutChannels_MeansAsManyAsComeIn) {
  nlohmann::json config = test::tiny_wan_config(1);
  config["in_channels"] = 6;
  config["out_channels"] = nullptr;
  EXPECT_EQ(make_wan(config, {}).value()->geometry().out_channels, 6);
}

}  // namespace
}  // namespace dlo::model
