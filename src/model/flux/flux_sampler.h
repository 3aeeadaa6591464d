// Owns: FluxSampler, the denoising loop of FLUX.1: flow-match Euler over packed latents, one
// forward a step, guidance as an operand. Free of torch. Must not own: what Sampler must not.
// Threading and failure: those of Sampler. Source: diffusers FluxPipeline, models.md 4.2.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/dit_model.h"
#include "model/sampler.h"
#include "model/schedulers/flow_match_euler.h"

namespace dlo::model {

class FluxSampler final : public Sampler {
 public:
  // `model` outlives the sampler. Precondition: grid and steps of `request` are checked.
  FluxSampler(DitModel& model, const FlowMatchEulerConfig& scheduler, const SampleRequest& request);

  [[nodiscard]] const std::vector<SampleOperand>& operands() const override { return operands_; }
  void bind(const std::vector<DeviceTensor>& tensors) override;
  [[nodiscard]] std::size_t step_count() const override { return schedule_.timesteps.size(); }
  void enqueue_step(platform::Device& device, std::size_t step) override;
  [[nodiscard]] std::vector<std::uint64_t> forwards_per_request() const override;
  // Guidance too.
  void enqueue_time(platform::Device& device, double timestep) override;
  void enqueue_forward(platform::Device& device) override;

  [[nodiscard]] const FlowSchedule& schedule() const { return schedule_; }

 private:
  DitModel& model_;
  std::array<std::int64_t, 3> token_grid_;
  FlowSchedule schedule_;
  float guidance_scale_;
  std::vector<SampleOperand> operands_;
  DitCall call_;  // enqueued forwards refer to it
};

}  // namespace dlo::model
