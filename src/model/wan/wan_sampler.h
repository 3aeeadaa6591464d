// Owns: WanSampler, the denoising loop of Wan 2.1 and 2.2: flow-match Euler with classifier-free
// guidance, two forwards a step; with two transformers, each step on the one that its timestep
// belongs to. Free of torch.
// Must not own: what Sampler must not. Threading and failure: those of Sampler.
// Source: diffusers WanPipeline, models.md 4.1.
#pragma once

#include <cstdint>
#include <vector>

#include "model/dit_model.h"
#include "model/sampler.h"
#include "model/schedulers/flow_match_euler.h"

namespace dlo::model {

// 0, the transformer for high noise, from `boundary_timestep` on, 1 below; both of the scheduler's
// training steps.
[[nodiscard]] std::size_t wan_transformer_of(double timestep, double boundary_timestep);

class WanSampler final : public Sampler {
 public:
  // `models` are one, or the one for high noise and the one for low noise; both outlive the
  // sampler. The first works where the timestep is at least `boundary_ratio` of the training
  // steps. Precondition: the grid and the steps of `request` are checked.
  WanSampler(std::vector<DitModel*> models, const FlowMatchEulerConfig& scheduler,
             double boundary_ratio, const SampleRequest& request);

  [[nodiscard]] const std::vector<SampleOperand>& operands() const override { return operands_; }
  void bind(const std::vector<DeviceTensor>& tensors) override;
  [[nodiscard]] std::size_t step_count() const override { return schedule_.timesteps.size(); }
  void enqueue_step(platform::Device& device, std::size_t step) override;
  [[nodiscard]] std::vector<std::uint64_t> forwards_per_request() const override;
  void enqueue_time(platform::Device& device, double timestep) override;
  void enqueue_forward(platform::Device& device) override;

  // Which of the models serves a step.
  [[nodiscard]] std::size_t model_of(std::size_t step) const;

 private:
  std::vector<DitModel*> models_;
  FlowSchedule schedule_;
  double boundary_timestep_;
  float guidance_scale_;
  std::vector<SampleOperand> operands_;
  // Enqueued forwards refer to these.
  DitCall conditional_;
  DitCall unconditional_;
};

}  // namespace dlo::model
