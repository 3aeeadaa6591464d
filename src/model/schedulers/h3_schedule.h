// Owns: the schedule of MiniMax-H3: sigmas of one modality and the Euler step that follows from
// them. A request has two, one for video and one for audio. Free of torch.
// Must not own: latents; the step itself is launch_blend_step (model/latent_ops.h).
// Source: diffusers MiniMaxH3Scheduler, models.md 4.3: time is 1 - sigma, and the model's velocity
// points to the data, the other way round than flow-match Euler has it.
#pragma once

#include <cstddef>
#include <vector>

namespace dlo::model {

struct H3Schedule {
  std::vector<float> sigmas;     // step_count + 1, falling from 1 to 0
  std::vector<float> timesteps;  // step_count, 1 - sigma

  // A step to x is ratio * x + (1 - ratio) * (x + noise_share * velocity). The share comes from the
  // timestep and the ratio from the sigmas: 1 - (1 - sigma) is not sigma in fp32.
  [[nodiscard]] float noise_share(std::size_t step) const { return 1.0F - timesteps[step]; }
  [[nodiscard]] float ratio(std::size_t step) const { return sigmas[step + 1] / sigmas[step]; }
};

// Precondition: step_count >= 1, shift > 0 (LogicError). diffusers counts the points of the grid,
// one more than steps.
[[nodiscard]] H3Schedule make_h3_schedule(double shift, std::size_t step_count);

}  // namespace dlo::model
