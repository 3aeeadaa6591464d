#include "tests/golden/wan_golden.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/codes.h"
#include "base/error.h"
#include "base/json.h"
#include "host_weights/safetensors/checkpoint_index.h"
#include "model/latent_ops.h"
#include "model/schedulers/flow_match_euler.h"

namespace dlo::golden {

namespace {

constexpr std::uint64_t kConfigLimitBytes = kMiB;
// Of the pipelines that made the fixtures.
constexpr float kGuidanceScale = 5.0F;

// The checkpoint's dtypes decide how the model stores its weights.
model::ModelOptions storage_options(model::ModelOptions options, Storage storage,
                                    const host_weights::ComponentCheckpoint& checkpoint) {
  const auto dtype_of = [&checkpoint](const auto& tensor) {
    return checkpoint.record(tensor).dtype;
  };
  const auto& tensors = checkpoint.tensors();
  const bool any_bf16 = std::any_of(tensors.begin(), tensors.end(), [&](const auto& tensor) {
    return dtype_of(tensor) == DType::kBF16;
  });
  if (storage == Storage::kAsOnDisk && any_bf16) {
    const auto* table = checkpoint.find("scale_shift_table");
    options.runtime_dtype = DType::kBF16;
    options.keep_fp32_modules = table != nullptr && dtype_of(*table) == DType::kF32;
  }
  return options;
}

}  // namespace

Result<std::unique_ptr<WanGolden>> WanGolden::open(const platform::FileSystem& files,
                                                   const platform::Path& folder,
                                                   const model::ModelOptions& options,
                                                   Storage storage) {
  const platform::Path component = folder / "checkpoint" / "transformer";
  const auto checkpoint = host_weights::ComponentCheckpoint::open(files, component);
  if (!checkpoint.ok()) {
    return checkpoint.refusal();
  }
  Result<GoldenTensors> inputs = read_golden_tensors(files, folder / "inputs.safetensors");
  if (!inputs.ok()) {
    return inputs.refusal();
  }
  std::unique_ptr<WanGolden> golden(new WanGolden());
  auto placed = GoldenModel::open(files, golden->device_, component, model::make_wan,
                                  storage_options(options, storage, *checkpoint));
  if (!placed.ok()) {
    return placed.refusal();
  }
  golden->inputs_ = std::move(*inputs);
  golden->placed_ = std::move(placed).value();
  const auto scheduler =
      files.read_text(folder / "scheduler_euler" / "scheduler_config.json", kConfigLimitBytes);
  golden->scheduler_config_ = scheduler.ok() ? *scheduler : std::string();
  return golden;
}

const GoldenTensor& WanGolden::input(const std::string& prefix, const std::string& name) const {
  for (const auto& key : {prefix + name, name}) {
    if (const auto found = inputs_.find(key); found != inputs_.end()) {
      return found->second;
    }
  }
  throw RunError(refuse(codes::kMissingTensor, "no input '" + prefix + name + "'",
                        "inputs.safetensors", "add it to the golden folder"));
}

void WanGolden::run_forward(const std::string& prefix, GoldenTensors& out) {
  const GoldenOperand latents(device_, input(prefix, "latents"));
  const GoldenOperand timestep(device_, input(prefix, "timestep"));
  const GoldenOperand text(device_, input(prefix, "encoder_hidden_states"));
  Shape output_shape = latents.tensor().shape;
  require(output_shape.size() == 5, "latents must have five dimensions");
  output_shape[1] = placed_->model().geometry().out_channels;
  const GoldenOperand output(device_, output_shape);
  CollectingTap tap(prefix, out);
  model::DitCall call{latents.tensor(), timestep.tensor(), text.tensor(), output.tensor(), &tap};
  placed_->model().forward(device_, call);
  require_success(device_);
  out.insert_or_assign(prefix + "sample", output.value());
}

GoldenTensors WanGolden::compute_forward() {
  GoldenTensors out;
  run_forward("", out);
  return out;
}

GoldenTensors WanGolden::compute(std::size_t pipeline_steps) {
  const std::string leaf = "timestep";
  GoldenTensors out;
  for (const auto& entry : inputs_) {
    const std::string& name = entry.first;
    if (name == leaf || name.ends_with("." + leaf)) {
      run_forward(name.substr(0, name.size() - leaf.size()), out);
    }
  }
  if (pipeline_steps > 0 && !scheduler_config_.empty() && inputs_.contains("pipeline.latents")) {
    run_pipeline(pipeline_steps, out);
  }
  return out;
}

void WanGolden::run_pipeline(std::size_t steps, GoldenTensors& out) {
  const auto config = model::parse_flow_match_euler(nlohmann::json::parse(scheduler_config_));
  const auto schedule = model::make_flow_schedule(config.value(), {steps, std::nullopt, {}});
  const GoldenOperand latents(device_, input("pipeline.", "latents"));
  const std::int64_t batch = latents.tensor().shape.at(0);
  const GoldenOperand timestep(device_, Shape{batch});
  const GoldenOperand prompt(device_, input("pipeline.", "prompt_embeds"));
  const GoldenOperand negative(device_, input("pipeline.", "negative_prompt_embeds"));
  const GoldenOperand conditional(device_, latents.tensor().shape);
  const GoldenOperand unconditional(device_, latents.tensor().shape);
  model::DitCall with{latents.tensor(), timestep.tensor(), prompt.tensor(), conditional.tensor()};
  model::DitCall without{latents.tensor(), timestep.tensor(), negative.tensor(),
                         unconditional.tensor()};
  const std::string prefix = "euler_pipeline.";
  std::vector<float> forward_timesteps;
  for (std::size_t step = 0; step < steps; ++step) {
    model::launch_fill(device_, timestep.tensor(), schedule.timesteps[step]);
    placed_->model().forward(device_, with);
    placed_->model().forward(device_, without);
    model::launch_guidance(device_, conditional.tensor(), unconditional.tensor(), kGuidanceScale);
    model::launch_euler_step(device_, latents.tensor(), conditional.tensor(),
                             schedule.delta_sigma(step));
    require_success(device_);
    forward_timesteps.insert(forward_timesteps.end(), 2, schedule.timesteps[step]);
    out.insert_or_assign(prefix + "latents." + std::to_string(step), latents.value());
  }
  out.insert_or_assign(prefix + "latents", latents.value());
  out.insert_or_assign(prefix + "sigmas", row(schedule.sigmas));
  out.insert_or_assign(prefix + "timesteps", row(schedule.timesteps));
  out.insert_or_assign(prefix + "forward_timesteps", row(std::move(forward_timesteps)));
  // 0: every forward ran on `transformer`.
  out.insert_or_assign(prefix + "forward_model", row(std::vector<float>(2 * steps, 0.0F)));
}

}  // namespace dlo::golden
