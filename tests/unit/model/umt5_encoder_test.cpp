// Goal: the table of a UMT5 encoder is that of the published checkpoint, impossible configurations
// are refused by name, and an encoding that cannot be is refused before anything is enqueued; a
// pipeline takes an encoder that fits its transformer and no other.
// Method: the listing of the reference class against make_umt5; configurations and operands by
// hand. Values are held by tests/golden.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/codes.h"
#include "base/error.h"
#include "base/json.h"
#include "model/dit_pipeline.h"
#include "model/text/text_encoder.h"
#include "tests/support/inline_device.h"
#include "tests/unit/model/listing.h"
#include "tests/unit/model/tiny_wan.h"

namespace dlo::model {
namespace {

using nlohmann::json;

json tiny_config() {
  return {{"vocab_size", 11}, {"d_model", 10},  {"d_kv", 4},
          {"d_ff", 12},       {"num_heads", 2}, {"num_layers", 2}};
}

std::unique_ptr<TextEncoder> tiny_encoder() {
  ModelOptions options;
  options.component = "text_encoder";
  return make_umt5(tiny_config(), options).value();
}

std::string code_of(const std::string& field, const json& value) {
  json config = tiny_config();
  config[field] = value;
  const auto made = make_umt5(config, {});
  return made.ok() ? std::string() : made.refusal().code;
}

TEST(Umt5Encoder, PublishedXxl_NamesShapesAndDtypesEqualTheList) {
  ModelOptions options;
  options.component = "text_encoder";
  options.runtime_dtype = DType::kBF16;
  options.keep_fp32_modules = false;
  const auto encoder = make_umt5({{"vocab_size", 256384},
                                  {"d_model", 4096},
                                  {"d_kv", 64},
                                  {"d_ff", 10240},
                                  {"num_heads", 64},
                                  {"num_layers", 24}},
                                 options)
                           .value();
  test::Listing listing;
  for (const auto& tensor : encoder->spec().tensors) {
    listing[tensor.name.substr(std::string("text_encoder.").size())] = {
        std::string(dtype_name(tensor.dtype)), fmt::format("[{}]", fmt::join(tensor.shape, ","))};
  }
  EXPECT_EQ(listing.size(), 242U);
  EXPECT_EQ(listing, test::read_listing("umt5_xxl_encoder.tsv"));
}

TEST(Umt5Encoder, Fp32Modules_AreTheSecondFeedForwardMatrices) {
  ModelOptions options;
  options.runtime_dtype = DType::kBF16;
  const auto encoder = make_umt5(tiny_config(), options).value();
  for (const auto& tensor : encoder->spec().tensors) {
    EXPECT_EQ(tensor.dtype, tensor.name.ends_with(".wo.weight") ? DType::kF32 : DType::kBF16)
        << tensor.name;
  }
}

TEST(Umt5Encoder, ImpossibleConfigurations_AreRefusedByName) {
  EXPECT_EQ(code_of("feed_forward_proj", "gated-gelu"), "");
  EXPECT_EQ(code_of("feed_forward_proj", "relu"), codes::kNotInThisProduct);
  EXPECT_EQ(code_of("_class_name", "T5EncoderModel"), codes::kNotInThisProduct);
  EXPECT_EQ(code_of("d_model", 0), codes::kCheckpointInvalid);
  EXPECT_EQ(code_of("layer_norm_epsilon", -1.0), codes::kCheckpointInvalid);
  EXPECT_EQ(code_of("relative_attention_num_buckets", 6), codes::kCheckpointInvalid);
  EXPECT_EQ(code_of("relative_attention_max_distance", 8), codes::kCheckpointInvalid);
  EXPECT_EQ(code_of("eos_token_id", 11), codes::kCheckpointInvalid) << "outside the vocabulary";
  EXPECT_EQ(code_of("pad_token_id", "0"), codes::kCheckpointInvalid);
  EXPECT_EQ(make_umt5(json::array(), {}).refusal().where, "text_encoder config.json");
}

TEST(Umt5Encoder, VocabularyWhoseIdsF32CannotHold_IsRefused) {
  constexpr std::int64_t kMost = 16'777'216;
  static_assert(static_cast<std::int64_t>(static_cast<float>(kMost - 1)) == kMost - 1);
  static_assert(static_cast<std::int64_t>(static_cast<float>(kMost + 1)) != kMost + 1);
  EXPECT_EQ(code_of("vocab_size", kMost), "");
  json config = tiny_config();
  config["vocab_size"] = kMost + 1;
  const Refusal refusal = make_umt5(config, {}).refusal();
  EXPECT_EQ(refusal.code, codes::kCheckpointInvalid);
  EXPECT_NE(refusal.what.find("'vocab_size'"), std::string::npos) << refusal.what;
}

TEST(Umt5Encoder, Geometry_IsTheConfigurations) {
  const auto encoder = tiny_encoder();
  EXPECT_EQ(encoder->geometry().vocabulary, 11);
  EXPECT_EQ(encoder->geometry().width, 10);
  EXPECT_EQ(encoder->geometry().pad_token, 0);
  EXPECT_EQ(encoder->geometry().end_token, 1);
}

TEST(Umt5Encoder, OperandsThatDoNotFit_AreRefusedBeforeAnythingIsEnqueued) {
  test::InlineDevice device;
  const auto encoder = tiny_encoder();
  const auto buffer = device.allocate_device(4096, platform::MemoryPurpose::kOther).value();
  const auto operand = [&](const Shape& shape) {
    return DeviceTensor{buffer->span(), DType::kF32, shape};
  };
  const auto code = [&](const Shape& tokens, const Shape& mask, const Shape& states) {
    TextCall call{operand(tokens), operand(mask), operand(states)};
    try {
      encoder->encode(device, call);
    } catch (const RunError& error) {
      return error.refusal().code;
    }
    return std::string();
  };
  EXPECT_EQ(code({3}, {3}, {3, 10}), codes::kShapeMismatch);
  EXPECT_EQ(code({1, 3}, {1, 2}, {1, 3, 10}), codes::kShapeMismatch);
  EXPECT_EQ(code({1, 3}, {1, 3}, {1, 3, 9}), codes::kShapeMismatch);
  EXPECT_EQ(code({1, 3}, {1, 3}, {1, 3, 10}), codes::kPlaceholderRead) << "not on the device";
}

PipelineDescription wan_with(const std::string& encoder_class, const json& encoder) {
  PipelineDescription description;
  description.transformers.push_back(
      {"transformer", "WanTransformer3DModel", test::tiny_wan_config(1)});
  description.scheduler_class = "FlowMatchEulerDiscreteScheduler";
  description.scheduler = {{"_class_name", "FlowMatchEulerDiscreteScheduler"}, {"shift", 3.0}};
  description.fields = json::object();
  description.text_encoder = {encoder_class, encoder};
  return description;
}

TEST(TextPipeline, EncoderThatFits_IsOnDemandByTheFamilysPlan) {
  const auto pipeline = make_dit_pipeline(wan_with("UMT5EncoderModel", tiny_config()), {}).value();
  ASSERT_NE(pipeline.text_encoder, nullptr);
  const auto& path = pipeline.text_encoder->spec().name;
  EXPECT_EQ(path, kTextEncoderPath);
  EXPECT_TRUE(pipeline.offload_plan.on_demand_component_paths.contains(path));
  std::size_t encoded = 0;
  const auto sampler =
      pipeline.make_sampler({.steps = 1, .latent_grid = {1, 4, 4}, .text_tokens = 3}).value();
  for (const auto& operand : sampler->operands()) {
    const bool text = operand.prompt != PromptOf::kNobody;
    EXPECT_TRUE(!text || operand.shape == (Shape{1, 3, 10})) << operand.name;
    encoded += text ? 1U : 0U;
  }
  EXPECT_EQ(encoded, 2U) << "a prompt and its negative";
}

TEST(TextPipeline, EncoderThatDoesNotFit_IsRefused) {
  const auto code = [](const std::string& encoder_class, const json& config) {
    return make_dit_pipeline(wan_with(encoder_class, config), {}).refusal().code;
  };
  EXPECT_EQ(code("T5EncoderModel", tiny_config()), codes::kNotInThisProduct);
  json wide = tiny_config();
  wide["d_model"] = 12;
  EXPECT_EQ(code("UMT5EncoderModel", wide), codes::kCheckpointInvalid);
}

TEST(TextPipeline, OnlyWan_TakesPrompts) {
  auto description = wan_with("UMT5EncoderModel", tiny_config());
  EXPECT_TRUE(check_takes_prompts(description).ok());
  for (const char* other : {"FluxTransformer2DModel", "MiniMaxH3DiTModel", "Unknown"}) {
    description.transformers.front().class_name = other;
    EXPECT_EQ(check_takes_prompts(description).refusal().code, codes::kNotInThisProduct);
  }
}

}  // namespace
}  // namespace dlo::model
