#include "model/flux/flux_sampler.h"

#include "base/error.h"
#include "model/latent_ops.h"

namespace dlo::model {

namespace {

// Positions in operands().
enum : std::size_t { kLatents, kTimestep, kText, kPooledText, kGuidance, kVelocity };

// The pipeline's timesteps are of this many, the model's of 1.
constexpr float kPipelineTimesteps = 1000.0F;

std::array<std::int64_t, 3> token_grid_of(const DitGeometry& geometry,
                                          const SampleRequest& request) {
  std::array<std::int64_t, 3> grid = request.latent_grid;
  for (std::size_t axis = 0; axis < grid.size(); ++axis) {
    grid[axis] /= geometry.patch_size[axis];
  }
  return grid;
}

FlowSchedule schedule_of(const FlowMatchEulerConfig& scheduler, std::size_t steps,
                         std::int64_t tokens) {
  ScheduleRequest request{.step_count = steps, .mu = std::nullopt, .given_sigmas = {}};
  const double last = 1.0 / static_cast<double>(steps);
  for (std::size_t i = 0; i < steps; ++i) {
    const double share = steps == 1 ? 0.0 : static_cast<double>(i) / static_cast<double>(steps - 1);
    request.given_sigmas.push_back(1.0 + (last - 1.0) * share);
  }
  if (scheduler.use_dynamic_shifting) {
    request.mu = dynamic_mu(scheduler, tokens);
  }
  return make_flow_schedule(scheduler, request);
}

}  // namespace

FluxSampler::FluxSampler(DitModel& model, const FlowMatchEulerConfig& scheduler,
                         const SampleRequest& request)
    : model_(model),
      token_grid_(token_grid_of(model.geometry(), request)),
      schedule_(schedule_of(scheduler, request.steps, token_grid_[1] * token_grid_[2])),
      guidance_scale_(static_cast<float>(request.guidance_scale)) {
  const auto& geometry = model.geometry();
  const std::int64_t tokens = token_grid_[1] * token_grid_[2];
  operands_ = {
      {"latents", {1, tokens, geometry.in_channels}, OperandRole::kResult},
      {"timestep", {1}, OperandRole::kScratch},
      {"text", {1, request.text_tokens, geometry.text_dim}, OperandRole::kInput},
      {"pooled text", {1, geometry.pooled_dim}, OperandRole::kInput},
      {"guidance", {1}, OperandRole::kScratch},
      {"velocity", {1, tokens, geometry.out_channels}, OperandRole::kForwardOutput},
  };
}

void FluxSampler::bind(const std::vector<DeviceTensor>& tensors) {
  require(tensors.size() == operands_.size(), "every operand needs its memory");
  call_.latents = tensors[kLatents];
  call_.timestep = tensors[kTimestep];
  call_.text_states = tensors[kText];
  call_.pooled_text = tensors[kPooledText];
  call_.guidance = tensors[kGuidance];
  call_.output = tensors[kVelocity];
  call_.token_grid = token_grid_;
}

void FluxSampler::enqueue_step(platform::Device& device, std::size_t step) {
  enqueue_time(device, schedule_.timesteps[step]);
  model_.forward(device, call_);
  launch_euler_step(device, call_.latents, call_.output, schedule_.delta_sigma(step));
}

std::vector<std::uint64_t> FluxSampler::forwards_per_request() const {
  return {step_count()};
}

void FluxSampler::enqueue_time(platform::Device& device, double timestep) {
  launch_fill(device, call_.timestep, static_cast<float>(timestep) / kPipelineTimesteps);
  launch_fill(device, call_.guidance, guidance_scale_);
}

void FluxSampler::enqueue_forward(platform::Device& device) {
  model_.forward(device, call_);
}

}  // namespace dlo::model
