#include "model/wan/wan_sampler.h"

#include <utility>

#include "base/error.h"
#include "model/latent_ops.h"

namespace dlo::model {

namespace {

// Positions in operands().
enum : std::size_t { kLatents, kTimestep, kText, kNegativeText, kVelocity, kNegativeVelocity };

std::vector<SampleOperand> operands_of(const DitGeometry& geometry, const SampleRequest& request) {
  const auto [frames, height, width] = request.latent_grid;
  const auto latent = [&](std::int64_t channels) {
    return Shape{1, channels, frames, height, width};
  };
  const Shape text = {1, request.text_tokens, geometry.text_dim};
  return {{"latents", latent(geometry.in_channels), OperandRole::kResult},
          {"timestep", {1}, OperandRole::kScratch},
          {"text", text, OperandRole::kInput, PromptOf::kRequest},
          {"negative text", text, OperandRole::kInput, PromptOf::kNegative},
          {"velocity", latent(geometry.out_channels), OperandRole::kForwardOutput},
          {"negative velocity", latent(geometry.out_channels), OperandRole::kScratch}};
}

}  // namespace

std::size_t wan_transformer_of(double timestep, double boundary_timestep) {
  return timestep >= boundary_timestep ? 0 : 1;
}

WanSampler::WanSampler(std::vector<DitModel*> models, const FlowMatchEulerConfig& scheduler,
                       double boundary_ratio, const SampleRequest& request)
    : models_(std::move(models)),
      schedule_(make_flow_schedule(
          scheduler, {.step_count = request.steps, .mu = std::nullopt, .given_sigmas = {}})),
      boundary_timestep_(boundary_ratio * static_cast<double>(scheduler.num_train_timesteps)),
      guidance_scale_(static_cast<float>(request.guidance_scale)),
      operands_(operands_of(models_.front()->geometry(), request)) {}

void WanSampler::bind(const std::vector<DeviceTensor>& tensors) {
  require(tensors.size() == operands_.size(), "every operand needs its memory");
  conditional_ = {tensors[kLatents], tensors[kTimestep], tensors[kText], tensors[kVelocity]};
  unconditional_ = {tensors[kLatents], tensors[kTimestep], tensors[kNegativeText],
                    tensors[kNegativeVelocity]};
}

std::size_t WanSampler::model_of(std::size_t step) const {
  return models_.size() == 1 ? 0
                             : wan_transformer_of(schedule_.timesteps[step], boundary_timestep_);
}

void WanSampler::enqueue_step(platform::Device& device, std::size_t step) {
  auto& model = *models_[model_of(step)];
  launch_fill(device, conditional_.timestep, schedule_.timesteps[step]);
  model.forward(device, conditional_);
  if (guidance_scale_ > 1.0F) {
    model.forward(device, unconditional_);
    launch_guidance(device, conditional_.output, unconditional_.output, guidance_scale_);
  }
  launch_euler_step(device, conditional_.latents, conditional_.output, schedule_.delta_sigma(step));
}

std::vector<std::uint64_t> WanSampler::forwards_per_request() const {
  std::vector<std::uint64_t> forwards(models_.size(), 0);
  for (std::size_t step = 0; step < step_count(); ++step) {
    forwards[model_of(step)] += guidance_scale_ > 1.0F ? 2 : 1;
  }
  return forwards;
}

void WanSampler::enqueue_time(platform::Device& device, double timestep) {
  launch_fill(device, conditional_.timestep, static_cast<float>(timestep));
}

void WanSampler::enqueue_forward(platform::Device& device) {
  models_.front()->forward(device, conditional_);
}

}  // namespace dlo::model
