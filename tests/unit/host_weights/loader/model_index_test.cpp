// Goal: a diffusers folder's own description is read as it stands, and each mistake in it ends in
// one clear refusal. Method: the folder that diffusers wrote, then copies of it with one change.
#include "host_weights/model_index.h"

#include <gtest/gtest.h>

#include "base/codes.h"
#include "platform/posix/posix_file_system.h"
#include "tests/support/memory_file_system.h"

namespace dlo::host_weights {
namespace {

constexpr const char* kIndex = "/m/model_index.json";
constexpr const char* kConfig = "/m/transformer/config.json";
constexpr const char* kScheduler = "/m/scheduler/scheduler_config.json";

class ModelIndexTest : public testing::Test {
 protected:
  ModelIndexTest() {
    const platform::Path golden = DLO_WAN_TINY_DIR;
    for (const char* name :
         {"model_index.json", "transformer/config.json", "scheduler/scheduler_config.json"}) {
      files_.put(platform::Path("/m") / name, disk_.read_text(golden / name, kMiB).value());
    }
  }
  nlohmann::json load(const char* path) {
    return nlohmann::json::parse(files_.contents(path).value());
  }
  void change(const char* path, const char* field, const nlohmann::json& value) {
    auto object = load(path);
    object[field] = value;
    files_.put(path, object.dump());
  }
  void remove(const char* path, const char* field) {
    auto object = load(path);
    object.erase(field);
    files_.put(path, object.dump());
  }
  // Code and text of the refusal of reading the whole pipeline; empty when it is read.
  Refusal refusal() {
    const auto configs = read_pipeline_configs(files_, "/m");
    return configs ? Refusal{} : configs.refusal();
  }

  platform::PosixFileSystem disk_;
  test_support::MemoryFileSystem files_;
};

TEST_F(ModelIndexTest, FolderWrittenByDiffusers_IsRead) {
  const auto configs = read_pipeline_configs(disk_, DLO_WAN_TINY_DIR);
  ASSERT_TRUE(configs.ok()) << configs.refusal().message();
  EXPECT_EQ(configs->index.pipeline_class, "WanPipeline");
  ASSERT_EQ(configs->transformers.size(), 1U);
  EXPECT_EQ(configs->transformers[0].entry.name, "transformer");
  EXPECT_EQ(configs->transformers[0].config["num_layers"], 3);
  EXPECT_EQ(configs->scheduler.entry.class_name, "UniPCMultistepScheduler");
  EXPECT_EQ(configs->scheduler.config["flow_shift"], 3.0);
  EXPECT_TRUE(configs->index.fields["boundary_ratio"].is_null());
  EXPECT_EQ(configs->index.fields["expand_timesteps"], false);
  EXPECT_EQ(configs->index.find("transformer_2"), nullptr);
  EXPECT_NE(configs->index.find("vae"), nullptr);
}

TEST_F(ModelIndexTest, SecondTransformer_IsReadBehindTheFirst) {
  change(kIndex, "transformer_2", {"diffusers", "WanTransformer3DModel"});
  files_.put("/m/transformer_2/config.json", files_.contents(kConfig).value());
  const auto configs = read_pipeline_configs(files_, "/m");
  ASSERT_TRUE(configs.ok()) << configs.refusal().message();
  ASSERT_EQ(configs->transformers.size(), 2U);
  EXPECT_EQ(configs->transformers[1].entry.name, "transformer_2");
}

TEST_F(ModelIndexTest, MissingIndex_IsRefusedWithItsPath) {
  ASSERT_TRUE(files_.remove_file(kIndex).ok());
  EXPECT_EQ(refusal().code, codes::kFileNotFound);
  EXPECT_NE(refusal().where.find("model_index.json"), std::string::npos);
}

TEST_F(ModelIndexTest, BrokenJson_IsRefused) {
  for (const char* path : {kIndex, kConfig, kScheduler}) {
    const std::string good = files_.contents(path).value();
    files_.put(path, "{\"a\":");
    EXPECT_EQ(refusal().code, codes::kCheckpointInvalid) << path;
    EXPECT_EQ(refusal().where, path);
    files_.put(path, "[1]");
    EXPECT_EQ(refusal().code, codes::kCheckpointInvalid) << path;
    files_.put(path, good);
  }
}

TEST_F(ModelIndexTest, ComponentWithoutFolder_IsRefused) {
  ASSERT_TRUE(files_.remove_tree("/m/scheduler").ok());
  EXPECT_EQ(refusal().code, codes::kFileNotFound);
}

TEST_F(ModelIndexTest, AbsentTransformer_IsRefused) {
  change(kIndex, "transformer", {nullptr, nullptr});
  EXPECT_EQ(refusal().code, codes::kCheckpointInvalid);
  EXPECT_EQ(refusal().what, "component 'transformer' is missing");
}

TEST_F(ModelIndexTest, HalfWrittenComponent_IsRefused) {
  change(kIndex, "vae", {"diffusers", nullptr});
  EXPECT_EQ(refusal().code, codes::kCheckpointInvalid);
  EXPECT_NE(refusal().what.find("'vae'"), std::string::npos);
}

TEST_F(ModelIndexTest, ClassThatTheProductDoesNotHave_IsRefusedByName) {
  change(kIndex, "transformer", {"diffusers", "CogVideoXTransformer3DModel"});
  change(kConfig, "_class_name", "CogVideoXTransformer3DModel");
  EXPECT_EQ(refusal().code, codes::kNotInThisProduct);
  EXPECT_NE(refusal().what.find("CogVideoXTransformer3DModel"), std::string::npos);
}

TEST_F(ModelIndexTest, ClassThatContradictsTheIndex_IsRefused) {
  change(kConfig, "_class_name", "FluxTransformer2DModel");
  EXPECT_EQ(refusal().code, codes::kCheckpointInvalid);
}

TEST_F(ModelIndexTest, EveryMissingField_IsRefusedByName) {
  for (const char* field :
       {"_class_name", "num_attention_heads", "attention_head_dim", "in_channels", "out_channels",
        "text_dim", "freq_dim", "ffn_dim", "num_layers", "rope_max_seq_len", "patch_size", "eps",
        "cross_attn_norm", "qk_norm"}) {
    const std::string good = files_.contents(kConfig).value();
    remove(kConfig, field);
    EXPECT_EQ(refusal().code, codes::kCheckpointInvalid) << field;
    EXPECT_EQ(refusal().what, std::string("field '") + field + "' is missing");
    files_.put(kConfig, good);
  }
}

TEST_F(ModelIndexTest, FieldsOfTheWrongKind_AreRefusedWithTheirValue) {
  const std::vector<std::pair<const char*, nlohmann::json>> cases = {
      {"num_layers", "three"}, {"num_layers", 0},         {"num_layers", -4},
      {"num_layers", 2.5},     {"ffn_dim", nullptr},      {"patch_size", {1, 2}},
      {"eps", "small"},        {"cross_attn_norm", 1},    {"patch_size", {1, 2, 0}},
      {"qk_norm", false},      {"_class_name", 7},        {"num_layers", 1LL << 40},
      {"num_layers", ~0ULL},   {"attention_head_dim", 11}};
  for (const auto& [field, value] : cases) {
    const std::string good = files_.contents(kConfig).value();
    change(kConfig, field, value);
    EXPECT_EQ(refusal().code, codes::kCheckpointInvalid) << field << " " << value;
    EXPECT_NE(refusal().what.find(field), std::string::npos);
    files_.put(kConfig, good);
  }
}

TEST_F(ModelIndexTest, ImageConditioning_IsNotInThisProduct) {
  change(kConfig, "image_dim", 1280);
  EXPECT_EQ(refusal().code, codes::kNotInThisProduct);
}

TEST_F(ModelIndexTest, AnotherQueryKeyNorm_IsNotInThisProduct) {
  change(kConfig, "qk_norm", "layer_norm");
  EXPECT_EQ(refusal().code, codes::kNotInThisProduct);
}

class TextEncoderConfig : public ModelIndexTest {
 protected:
  TextEncoderConfig() {
    const auto file = platform::Path(DLO_WAN_TINY_DIR) / "text_encoder/config.json";
    files_.put(kEncoder, disk_.read_text(file, kMiB).value());
  }
  [[nodiscard]] Refusal encoder_refusal() {
    const auto index = read_model_index(files_, "/m").value();
    const auto config = read_text_encoder_config(files_, "/m", index);
    return config ? Refusal{} : config.refusal();
  }

  static constexpr const char* kEncoder = "/m/text_encoder/config.json";
};

TEST_F(TextEncoderConfig, WrittenByTransformers_IsRead) {
  const auto index = read_model_index(files_, "/m").value();
  const auto config = read_text_encoder_config(files_, "/m", index);
  ASSERT_TRUE(config.ok()) << config.refusal().message();
  EXPECT_EQ(config->entry.class_name, "UMT5EncoderModel");
  EXPECT_EQ(config->config["d_model"], 32);
}

TEST_F(TextEncoderConfig, PipelineOrFolderWithoutOne_IsNamed) {
  change(kIndex, "text_encoder", {nullptr, nullptr});
  EXPECT_EQ(encoder_refusal().code, codes::kTextEncoderMissing);
  change(kIndex, "text_encoder", {"transformers", "UMT5EncoderModel"});
  EXPECT_EQ(encoder_refusal().code, "");
  ASSERT_TRUE(files_.remove_file(kEncoder).ok());
  EXPECT_EQ(encoder_refusal().code, codes::kTextEncoderMissing);
}

TEST_F(TextEncoderConfig, ClassThatContradicts_IsRefused) {
  change(kEncoder, "architectures", {"T5EncoderModel"});
  EXPECT_EQ(encoder_refusal().code, codes::kCheckpointInvalid);
  for (const auto& listed : {nlohmann::json("UMT5EncoderModel"), nlohmann::json::array(),
                             nlohmann::json({1}), nlohmann::json({"UMT5EncoderModel", "other"})}) {
    change(kEncoder, "architectures", listed);
    EXPECT_EQ(encoder_refusal().code, codes::kCheckpointInvalid) << listed;
  }
}

}  // namespace
}  // namespace dlo::host_weights
