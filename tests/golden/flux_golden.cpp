#include "tests/golden/flux_golden.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "model/flux/flux_sampler.h"

namespace dlo::golden {

namespace {

// Of the pipeline that made the fixture.
constexpr double kGuidanceScale = 3.5;

}  // namespace

Result<std::unique_ptr<FluxGolden>> FluxGolden::open(const platform::FileSystem& files,
                                                     const platform::Path& folder,
                                                     const model::ModelOptions& options) {
  auto inputs = read_golden_tensors(files, folder / "inputs.safetensors");
  if (!inputs.ok()) {
    return inputs.refusal();
  }
  std::unique_ptr<FluxGolden> golden(new FluxGolden());
  golden->inputs_ = std::move(*inputs);
  auto placed = GoldenModel::open(files, golden->device_, folder / "checkpoint" / "transformer",
                                  model::make_flux, options);
  if (!placed.ok()) {
    return placed.refusal();
  }
  golden->placed_ = std::move(placed).value();
  golden->scheduler_ =
      read_json(files, folder / "checkpoint" / "scheduler" / "scheduler_config.json");
  return golden;
}

std::array<std::int64_t, 3> FluxGolden::token_grid(const std::string& prefix) const {
  const auto& ids = inputs_.at(prefix + "img_ids").values;
  std::array<std::int64_t, 3> grid = {1, 1, 1};
  for (std::size_t token = 0; token * 3 < ids.size(); ++token) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      grid[axis] = std::max(grid[axis], static_cast<std::int64_t>(ids[token * 3 + axis]) + 1);
    }
  }
  return grid;
}

void FluxGolden::run_forward(const std::string& prefix, GoldenTensors& out) {
  const auto input = [&](const char* name) {
    return GoldenOperand(device_, inputs_.at(prefix + name));
  };
  const GoldenOperand latents = input("hidden_states");
  const GoldenOperand timestep = input("timestep");
  const GoldenOperand text = input("encoder_hidden_states");
  const GoldenOperand pooled = input("pooled_projections");
  const GoldenOperand guidance = input("guidance");
  const GoldenOperand output(device_, latents.tensor().shape);
  CollectingTap tap(prefix, out);
  model::DitCall call{latents.tensor(), timestep.tensor(), text.tensor(), output.tensor(), &tap};
  call.pooled_text = pooled.tensor();
  call.guidance = guidance.tensor();
  call.token_grid = token_grid(prefix);
  placed_->model().forward(device_, call);
  require_success(device_);
  out.insert_or_assign(prefix + "sample", output.value());
}

GoldenTensors FluxGolden::compute_forward() {
  GoldenTensors out;
  run_forward("", out);
  return out;
}

GoldenTensors FluxGolden::compute(std::size_t pipeline_steps) {
  GoldenTensors out;
  run_forward("", out);
  run_forward("b2.", out);
  if (pipeline_steps > 0) {
    run_pipeline(pipeline_steps, out);
  }
  return out;
}

void FluxGolden::run_pipeline(std::size_t steps, GoldenTensors& out) {
  const auto grid = token_grid("");
  // The latent grid is twice the token grid.
  model::FluxSampler sampler(placed_->model(), model::parse_flow_match_euler(scheduler_).value(),
                             {.steps = steps,
                              .guidance_scale = kGuidanceScale,
                              .latent_grid = {1, 2 * grid[1], 2 * grid[2]},
                              .text_tokens = inputs_.at("pipeline.prompt_embeds").shape.at(1)});
  std::vector<GoldenOperand> operands;
  std::vector<model::DeviceTensor> tensors;
  for (const auto& asked : sampler.operands()) {
    const std::map<std::string, std::string> names = {
        {"latents", "pipeline.latents"},
        {"text", "pipeline.prompt_embeds"},
        {"pooled text", "pipeline.pooled_prompt_embeds"}};
    const auto found = names.find(asked.name);
    operands.push_back(found == names.end() ? GoldenOperand(device_, asked.shape)
                                            : GoldenOperand(device_, inputs_.at(found->second)));
    require(operands.back().tensor().shape == asked.shape, "an input has another shape");
    tensors.push_back(operands.back().tensor());
  }
  sampler.bind(tensors);
  for (std::size_t step = 0; step < sampler.step_count(); ++step) {
    sampler.enqueue_step(device_, step);
    require_success(device_);
    out.insert_or_assign("pipeline.latents." + std::to_string(step), operands.front().value());
  }
  out.insert_or_assign("pipeline.latents", operands.front().value());
  out.insert_or_assign("pipeline.sigmas", row(sampler.schedule().sigmas));
  out.insert_or_assign("pipeline.timesteps", row(sampler.schedule().timesteps));
}

}  // namespace dlo::golden
