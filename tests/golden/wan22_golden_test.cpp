// Goal: the two transformers of Wan 2.2 compute what diffusers computes, each on its side of the
// boundary. Method: weights, inputs and expected tensors of the golden folder; the pipeline is made
// of the product's forwards, guidance and choice of transformer with the fixture's own sampler.

#include <gtest/gtest.h>

#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "model/latent_ops.h"
#include "model/wan/wan_sampler.h"
#include "platform/posix/posix_file_system.h"
#include "tests/golden/comparison.h"
#include "tests/golden/golden_model.h"
#include "tests/golden/unipc_steps.h"

namespace dlo::golden {
namespace {

constexpr double kTrainTimesteps = 1000.0;
constexpr float kTimestepOfSamples = 875.0F;
// Of the pipeline that made the fixture, by transformer.
constexpr float kGuidance[] = {4.0F, 3.0F};

class Wan22Golden : public testing::Test {
 protected:
  Wan22Golden() {
    const platform::Path folder = fixtures() / "wan22_tiny";
    boundary_ = kTrainTimesteps * read_json(files_, folder / "checkpoint" / "model_index.json")
                                      .at("boundary_ratio")
                                      .get<double>();
    inputs_ = read_golden_tensors(files_, folder / "inputs.safetensors").value();
    expected_ = read_golden_tensors(files_, folder / "expected.safetensors").value();
    for (const char* name : {"transformer", "transformer_2"}) {
      model::ModelOptions options;
      options.component = name;
      models_.push_back(
          GoldenModel::open(files_, device_, folder / "checkpoint" / name, model::make_wan, options)
              .value());
    }
  }

  GoldenTensor forward(std::size_t model, const GoldenTensor& latents, float timestep,
                       const char* text) {
    const GoldenOperand x(device_, latents);
    const GoldenOperand t(device_, GoldenTensor{{1}, {timestep}});
    const GoldenOperand states(device_, inputs_.at(text));
    const GoldenOperand out(device_, latents.shape);
    model::DitCall call{x.tensor(), t.tensor(), states.tensor(), out.tensor()};
    models_[model]->model().forward(device_, call);
    require_success(device_);
    return out.value();
  }

  GoldenTensor guided(std::size_t model, const GoldenTensor& latents, float timestep) {
    const GoldenOperand with(device_, forward(model, latents, timestep, "pipeline.prompt_embeds"));
    const GoldenOperand without(
        device_, forward(model, latents, timestep, "pipeline.negative_prompt_embeds"));
    model::launch_guidance(device_, with.tensor(), without.tensor(), kGuidance[model]);
    return with.value();
  }

  platform::PosixFileSystem files_;
  test::InlineDevice device_;
  double boundary_ = 0.0;
  GoldenTensors inputs_;
  GoldenTensors expected_;
  std::vector<std::unique_ptr<GoldenModel>> models_;
};

TEST_F(Wan22Golden, BothTransformersAndThePipeline_MatchWithinTolerance) {
  GoldenTensors computed;
  const GoldenTensor& start = inputs_.at("pipeline.latents");
  computed["transformer.sample"] = forward(0, start, kTimestepOfSamples, "pipeline.prompt_embeds");
  computed["transformer_2.sample"] =
      forward(1, start, kTimestepOfSamples, "pipeline.prompt_embeds");

  const auto& timesteps = expected_.at("pipeline.timesteps").values;
  UniPcSteps sampler(expected_.at("pipeline.sigmas").values);
  GoldenTensor latents = start;
  std::vector<float> forward_model;
  std::vector<float> forward_timesteps;
  for (std::size_t step = 0; step < timesteps.size(); ++step) {
    const std::size_t model = model::wan_transformer_of(timesteps[step], boundary_);
    forward_model.insert(forward_model.end(), 2, static_cast<float>(model));
    forward_timesteps.insert(forward_timesteps.end(), 2, timesteps[step]);
    latents.values = sampler.step(latents.values, guided(model, latents, timesteps[step]).values);
    computed["pipeline.latents." + std::to_string(step)] = latents;
  }
  computed["pipeline.latents"] = latents;
  computed["pipeline.forward_model"] = row(forward_model);
  computed["pipeline.forward_timesteps"] = row(forward_timesteps);
  const Comparison comparison = compare(expected_, computed);
  std::cout << comparison.text();
  EXPECT_TRUE(comparison.passed()) << comparison.text();
  // The VAE's frames, and the sampler's own tables.
  EXPECT_EQ(comparison.not_compared,
            (std::vector<std::string>{"pipeline.frames", "pipeline.sigmas", "pipeline.timesteps"}));
}

TEST_F(Wan22Golden, TransformersTheOtherWayRound_DoNotMatch) {
  const GoldenTensor& start = inputs_.at("pipeline.latents");
  const GoldenTensors computed = {
      {"transformer.sample", forward(1, start, kTimestepOfSamples, "pipeline.prompt_embeds")}};
  EXPECT_FALSE(compare(expected_, computed).passed());
}

}  // namespace
}  // namespace dlo::golden
