// Goal: a pipeline is made by the class that its folder names, numbers its rings, picks the
// transformer by timestep, and refuses what no family can serve. Method: small configurations of
// every family; samplers are asked for their operands and forwards, nothing is computed.

#include "model/dit_pipeline.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/codes.h"
#include "model/wan/wan_sampler.h"
#include "tests/unit/model/tiny_wan.h"

namespace dlo::model {
namespace {

nlohmann::json euler(bool dynamic) {
  return {{"_class_name", "FlowMatchEulerDiscreteScheduler"},
          {"shift", 3.0},
          {"use_dynamic_shifting", dynamic}};
}

PipelineDescription wan(std::size_t transformers) {
  PipelineDescription description;
  for (std::size_t i = 0; i < transformers; ++i) {
    const std::string name = i == 0 ? "transformer" : "transformer_" + std::to_string(i + 1);
    description.transformers.push_back({name, "WanTransformer3DModel", test::tiny_wan_config(2)});
  }
  description.scheduler_class = "FlowMatchEulerDiscreteScheduler";
  description.scheduler = euler(/*dynamic=*/false);
  description.fields = {{"boundary_ratio", nullptr}};
  if (transformers == 2) {
    description.fields["boundary_ratio"] = 0.875;
  }
  return description;
}

PipelineDescription flux() {
  PipelineDescription description;
  description.transformers.push_back({"transformer",
                                      "FluxTransformer2DModel",
                                      {{"in_channels", 16},
                                       {"num_layers", 1},
                                       {"num_single_layers", 2},
                                       {"attention_head_dim", 16},
                                       {"num_attention_heads", 2},
                                       {"joint_attention_dim", 10},
                                       {"pooled_projection_dim", 6},
                                       {"axes_dims_rope", {4, 4, 8}}}});
  description.scheduler_class = "FlowMatchEulerDiscreteScheduler";
  description.scheduler = euler(/*dynamic=*/true);
  description.fields = nlohmann::json::object();
  return description;
}

PipelineDescription h3() {
  PipelineDescription description;
  description.transformers.push_back({"transformer",
                                      "MiniMaxH3DiTModel",
                                      {{"hidden_size", 16},
                                       {"num_layers", 2},
                                       {"num_attention_heads", 2},
                                       {"attention_head_dim", 12},
                                       {"ffn_hidden_size", 20},
                                       {"latents_dim", 4},
                                       {"audio_latents_dim", 6},
                                       {"text_dim", 10},
                                       {"timestep_input_dim", 8},
                                       {"time_embed_hidden_size", 16},
                                       {"time_embed_dim", 8},
                                       {"rope_inv_freq_len", 2}}});
  description.fields = nlohmann::json::object();
  return description;
}

SampleRequest request(std::array<std::int64_t, 3> grid, double guidance = 5.0) {
  return {.steps = 4, .guidance_scale = guidance, .latent_grid = grid, .text_tokens = 3};
}

std::string code_of(const PipelineDescription& description) {
  const auto made = make_dit_pipeline(description, {});
  return made.ok() ? std::string() : made.refusal().code;
}

Shape shape_of(const Sampler& sampler, const std::string& name) {
  for (const auto& operand : sampler.operands()) {
    if (operand.name == name) {
      return operand.shape;
    }
  }
  return {};
}

TEST(DitPipeline, TwoWanTransformers_ShareTheStepsAtTheBoundary) {
  const auto pipeline = make_dit_pipeline(wan(2), {}).value();
  ASSERT_EQ(pipeline.transformers.size(), 2U);
  EXPECT_EQ(pipeline.transformers[1]->spec().name, "transformer_2");
  const auto guided = pipeline.make_sampler(request({1, 4, 4})).value();
  // Shift 3, four steps: 1000, 858, 602, 9.
  EXPECT_EQ(guided->forwards_per_request(), (std::vector<std::uint64_t>{2, 6}));
  const auto plain = pipeline.make_sampler(request({1, 4, 4}, 1.0)).value();
  EXPECT_EQ(plain->forwards_per_request(), (std::vector<std::uint64_t>{1, 3}));
  EXPECT_EQ(wan_transformer_of(875.0, 875.0), 0U);
  EXPECT_EQ(wan_transformer_of(874.9, 875.0), 1U);
}

TEST(DitPipeline, OneWanTransformer_ServesEveryStep) {
  const auto pipeline = make_dit_pipeline(wan(1), {}).value();
  const auto sampler = pipeline.make_sampler(request({1, 4, 4})).value();
  EXPECT_EQ(sampler->forwards_per_request(), (std::vector<std::uint64_t>{8}));
}

TEST(DitPipeline, UniPc_IsReplacedAndSaid) {
  auto description = wan(1);
  description.scheduler_class = "UniPCMultistepScheduler";
  description.scheduler = {{"_class_name", "UniPCMultistepScheduler"}, {"flow_shift", 5.0}};
  const auto pipeline = make_dit_pipeline(description, {}).value();
  ASSERT_EQ(pipeline.notes.size(), 1U);
  EXPECT_NE(pipeline.notes.front().find("shift 5"), std::string::npos);
}

TEST(DitPipeline, Flux_PacksTwoByTwoAndWalksTheRingOnceAStep) {
  const auto pipeline = make_dit_pipeline(flux(), {}).value();
  const auto sampler = pipeline.make_sampler(request({1, 6, 4})).value();
  EXPECT_EQ(shape_of(*sampler, "latents"), (Shape{1, 6, 16}));
  EXPECT_EQ(sampler->forwards_per_request(), (std::vector<std::uint64_t>{4}));
  EXPECT_EQ(pipeline.make_sampler(request({2, 6, 4})).refusal().code, codes::kInvalidValue);
  EXPECT_EQ(pipeline.make_sampler(request({1, 5, 4})).refusal().code, codes::kInvalidValue);
}

TEST(DitPipeline, H3_PacksAConditioningFrameBeforeTheVideo) {
  const auto pipeline = make_dit_pipeline(h3(), {}).value();
  const auto sampler = pipeline.make_sampler(request({3, 4, 4})).value();
  EXPECT_EQ(shape_of(*sampler, "video"), (Shape{1, 4 + 3 * 4, 16}));
  EXPECT_EQ(shape_of(*sampler, "audio"), (Shape{1, 6, 6}));
  EXPECT_EQ(shape_of(*sampler, "text"), (Shape{1, 3, 10}));
  EXPECT_EQ(pipeline.transformers.front()->child_rings().size(), 1U);
}

TEST(DitPipeline, RequestWithoutSteps_IsRefusedByEveryFamily) {
  for (const auto& description : {wan(1), flux(), h3()}) {
    const auto pipeline = make_dit_pipeline(description, {}).value();
    SampleRequest none = request({1, 4, 4});
    none.steps = 0;
    EXPECT_EQ(pipeline.make_sampler(none).refusal().code, codes::kInvalidValue);
  }
}

TEST(DitPipeline, FoldersThatContradictThemselves_AreRefusedByCode) {
  auto no_boundary = wan(2);
  no_boundary.fields = nlohmann::json::object();
  EXPECT_EQ(code_of(no_boundary), codes::kCheckpointInvalid);
  auto boundary_for_one = wan(1);
  boundary_for_one.fields["boundary_ratio"] = 0.5;
  EXPECT_EQ(code_of(boundary_for_one), codes::kCheckpointInvalid);
  auto bad_boundary = wan(2);
  bad_boundary.fields["boundary_ratio"] = 1.5;
  EXPECT_EQ(code_of(bad_boundary), codes::kCheckpointInvalid);
  auto mixed = wan(2);
  mixed.transformers[1].class_name = "FluxTransformer2DModel";
  EXPECT_EQ(code_of(mixed), codes::kNotInThisProduct);
  auto unknown = wan(1);
  unknown.transformers[0].class_name = "QwenImageTransformer2DModel";
  EXPECT_EQ(code_of(unknown), codes::kNotInThisProduct);
  auto bad_shift = h3();
  bad_shift.fields = {{"_minimax_h3", {{"sigma_shift_scales", {{"video", 0}}}}}};
  EXPECT_EQ(code_of(bad_shift), codes::kCheckpointInvalid);
  for (auto twice : {flux(), h3()}) {
    twice.transformers.push_back(twice.transformers.front());
    EXPECT_EQ(code_of(twice), codes::kNotInThisProduct);
  }
}

}  // namespace
}  // namespace dlo::model
