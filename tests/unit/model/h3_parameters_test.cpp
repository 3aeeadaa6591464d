// Goal: the parameter table of MiniMax-H3 is that of the published native checkpoint, its token
// refiner a ring of its own, and q, k and v regrouped by recipe. Method: the golden list against
// make_h3; rings, recipes and config errors by hand.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/codes.h"
#include "base/error.h"
#include "base/json.h"
#include "model/model_factory.h"
#include "tests/unit/model/listing.h"

namespace dlo::model {
namespace {

nlohmann::json tiny_h3_config() {
  return {{"_class_name", "MiniMaxH3DiTModel"},
          {"hidden_size", 16},
          {"num_layers", 2},
          {"token_refiner_num_layers", 1},
          {"num_attention_heads", 2},
          {"attention_head_dim", 12},
          {"ffn_hidden_size", 20},
          {"latents_dim", 4},
          {"audio_latents_dim", 6},
          {"text_dim", 10},
          {"timestep_input_dim", 8},
          {"time_embed_hidden_size", 16},
          {"time_embed_dim", 8},
          {"rope_inv_freq_len", 2}};
}

TEST(H3Parameters, Published_NamesDtypesAndBytesEqualTheList) {
  ModelOptions options;
  options.runtime_dtype = DType::kBF16;
  const auto model = make_h3(nlohmann::json::object(), options).value();
  const test::Listing listing = test::listing_of(*model);
  EXPECT_EQ(listing.size(), 535U);
  EXPECT_EQ(listing, test::read_listing("minimax_h3_native.tsv"));
  EXPECT_EQ(test::tensor_bytes_of(*model), 66'280'430'144U);
  std::uint64_t parameters = 0;
  for (const auto& tensor : model->spec().blocks.front().tensors) {
    parameters += element_count(tensor.shape).value();
  }
  EXPECT_EQ(parameters, 645'571'840U);
}

TEST(H3Parameters, TokenRefiner_IsAChildRing) {
  const auto model = make_h3(tiny_h3_config(), {}).value();
  const auto& spec = model->spec();
  ASSERT_EQ(spec.blocks.size(), 2U);
  EXPECT_EQ(spec.blocks[1].name, "transformer.blocks.1");
  EXPECT_EQ(spec.blocks[1].tensors.size(), 10U);
  EXPECT_TRUE(spec.parent.empty());
  const auto children = model->child_rings();
  ASSERT_EQ(children.size(), 1U);
  EXPECT_EQ(children[0]->name, "transformer.token_refiner");
  EXPECT_EQ(children[0]->parent, "transformer");
  ASSERT_EQ(children[0]->blocks.size(), 1U);
  EXPECT_EQ(children[0]->blocks[0].name, "transformer.token_refiner.blocks.0");
  EXPECT_EQ(children[0]->blocks[0].tensors.size(), 8U);
  EXPECT_EQ(children[0]->non_block.tensors.size(), 1U);
  EXPECT_THROW(model->set_child_observer(1, nullptr), LogicError);
}

TEST(H3Parameters, StoredFrequencies_ArePersistentBuffer) {
  const auto model = make_h3(tiny_h3_config(), {}).value();
  const auto& last = model->spec().non_block.tensors.back();
  EXPECT_EQ(last.name, "transformer.rope.inv_freq");
  EXPECT_EQ(last.kind, contracts::TensorKind::kPersistentBuffer);
  EXPECT_EQ(last.dtype, DType::kF32);
}

TEST(H3Parameters, Qkv_IsRegroupedInBothRings) {
  const auto model = make_h3(tiny_h3_config(), {}).value();
  const auto& recipes = model->spec().loading.recipes;
  EXPECT_EQ(recipes.size(), 2U);
  const auto& recipe = recipes.at("transformer.blocks.1.attn.qkv_proj.weight");
  EXPECT_TRUE(contracts::check_recipe(recipe, {72, 16}).ok());
  // k of head 1: stored behind q, k, v of head 0 and q of head 1; runs behind all q and k of head
  // 0.
  const auto& copy = recipe.copies.at(3);
  EXPECT_EQ(copy.source_key, "blocks.1.attn.qkv_proj.weight");
  EXPECT_EQ(copy.source.start, (std::vector<std::int64_t>{48, 0}));
  EXPECT_EQ(copy.destination.start, (std::vector<std::int64_t>{36, 0}));
  EXPECT_TRUE(model->child_rings()[0]->loading.recipes.contains(
      "transformer.token_refiner.blocks.0.attn.qkv_proj.weight"));
}

TEST(H3Config, BadField_IsRefusedWithCode) {
  const struct {
    const char* field;
    nlohmann::json value;
    std::string_view code;
  } cases[] = {
      {"num_layers", 0, codes::kCheckpointInvalid},
      {"norm_eps", 0, codes::kCheckpointInvalid},
      {"timestep_input_dim", 7, codes::kCheckpointInvalid},
      {"rope_inv_freq_len", 3, codes::kCheckpointInvalid},
      {"adaln_out_features", 7, codes::kCheckpointInvalid},
      {"final_adaln_out_features", 7, codes::kCheckpointInvalid},
      {"patch_size", {1, 2}, codes::kCheckpointInvalid},
      {"_class_name", "MiniMaxH3Transformer3DModel", codes::kNotInThisProduct},
  };
  for (const auto& bad : cases) {
    auto config = tiny_h3_config();
    config[bad.field] = bad.value;
    const auto made = make_h3(config, {});
    ASSERT_FALSE(made.ok()) << bad.field << " " << bad.value;
    EXPECT_EQ(made.refusal().code, bad.code) << bad.field << " " << bad.value;
  }
}

}  // namespace
}  // namespace dlo::model
