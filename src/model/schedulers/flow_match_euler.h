// Owns: the flow-match Euler scheduler: its settings from scheduler_config.json and the table of
// sigmas and timesteps of a run. Free of torch.
// Must not own: latents; the step itself is latents += (sigma[i+1] - sigma[i]) * velocity
// (model/latent_ops.h).
// Source: diffusers FlowMatchEulerDiscreteScheduler, models.md 4.1 and 4.2. Its quirk is kept:
// without given sigmas the static shift is applied twice to the low end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "base/result.h"

namespace dlo::model {

enum class TimeShift : std::uint8_t { kExponential, kLinear };

struct FlowMatchEulerConfig {
  std::int64_t num_train_timesteps = 1000;
  double shift = 1.0;
  bool use_dynamic_shifting = false;
  TimeShift time_shift_type = TimeShift::kExponential;
  std::optional<double> shift_terminal;  // last sigma before the final 0
  // Of dynamic shifting: mu is linear in the number of tokens through these two points.
  double base_image_seq_len = 256;
  double base_shift = 0.5;
  double max_image_seq_len = 4096;
  double max_shift = 1.15;
};

// Refusals: checkpoint_invalid (a field of the wrong kind), not_in_this_product (karras,
// exponential or beta sigmas, inverted sigmas, stochastic sampling, another class).
[[nodiscard]] Result<FlowMatchEulerConfig> parse_flow_match_euler(const nlohmann::json& config);

// mu of dynamic shifting for an image of `tokens`, as FluxPipeline computes it; also beyond the two
// points.
[[nodiscard]] double dynamic_mu(const FlowMatchEulerConfig& config, std::int64_t tokens);

// One run's table. Step i goes from sigmas[i] to sigmas[i + 1] with the model at timesteps[i].
struct FlowSchedule {
  std::vector<float> sigmas;     // step_count + 1, falling, last 0
  std::vector<float> timesteps;  // step_count, sigma * num_train_timesteps

  // Precondition: step < timesteps.size().
  [[nodiscard]] float delta_sigma(std::size_t step) const;
};

struct ScheduleRequest {
  std::size_t step_count = 0;        // ignored when sigmas are given
  std::optional<double> mu;          // required with use_dynamic_shifting
  std::vector<double> given_sigmas;  // unshifted; empty: the scheduler's own grid
};

// Throws LogicError for no steps, or a missing mu with dynamic shifting.
[[nodiscard]] FlowSchedule make_flow_schedule(const FlowMatchEulerConfig& config,
                                              const ScheduleRequest& request);

}  // namespace dlo::model
