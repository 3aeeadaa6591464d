#include "tests/golden/wan_golden.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/codes.h"
#include "base/error.h"
#include "base/json.h"
#include "host_weights/dtype_conversion.h"
#include "host_weights/safetensors/checkpoint_index.h"
#include "model/latent_ops.h"
#include "model/schedulers/flow_match_euler.h"

namespace dlo::golden {

namespace {

constexpr std::uint64_t kConfigLimitBytes = kMiB;
// Of the pipelines that made the fixtures.
constexpr float kGuidanceScale = 5.0F;

// A tensor in device memory with its buffer.
class Operand {
 public:
  Operand(platform::Device& device, const Shape& shape) {
    const auto bytes = tensor_bytes(shape, DType::kF32);
    require(bytes.has_value(), "an operand has an impossible shape");
    buffer_ = device.allocate_device(*bytes, platform::MemoryPurpose::kOther).value();
    tensor_ = {buffer_->span(), DType::kF32, shape};
  }
  Operand(platform::Device& device, const GoldenTensor& value) : Operand(device, value.shape) {
    std::memcpy(tensor_.span.data, value.values.data(), tensor_.span.bytes);
  }

  [[nodiscard]] const model::DeviceTensor& tensor() const { return tensor_; }
  [[nodiscard]] GoldenTensor value() const {
    GoldenTensor out{tensor_.shape, std::vector<float>(tensor_.span.bytes / sizeof(float))};
    std::memcpy(out.values.data(), tensor_.span.data, tensor_.span.bytes);
    return out;
  }

 private:
  std::unique_ptr<platform::DeviceBuffer> buffer_;
  model::DeviceTensor tensor_;
};

class CollectingTap final : public model::ForwardTap {
 public:
  CollectingTap(std::string prefix, GoldenTensors& out) : prefix_(std::move(prefix)), out_(out) {}

  void see(std::string_view name, const at::Tensor& tensor) override {
    const at::Tensor contiguous = tensor.to(at::kFloat).contiguous();
    GoldenTensor value{contiguous.sizes().vec(), {}};
    const float* data = contiguous.const_data_ptr<float>();
    value.values.assign(data, data + contiguous.numel());
    out_.insert_or_assign(prefix_ + std::string(name), std::move(value));
  }

 private:
  std::string prefix_;
  GoldenTensors& out_;
};

GoldenTensor row(std::vector<float> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return GoldenTensor{{count}, std::move(values)};
}

void require_success(platform::Device& device) {
  if (const auto failure = device.failure()) {
    throw RunError(*failure);
  }
}

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

// Fills a tensor from the checkpoint under its name without the component's prefix.
test::FillTensor checkpoint_values(const host_weights::ComponentCheckpoint& checkpoint,
                                   const std::string& component) {
  return [&checkpoint, component](const contracts::TensorSpec& spec, ByteSpan out) {
    const Result<TensorView> view = checkpoint.view(spec.name.substr(component.size() + 1));
    if (!view.ok()) {
      throw RunError(view.refusal());
    }
    require(view->shape == spec.shape, "'" + spec.name + "' has another shape in the checkpoint");
    host_weights::convert_elements(view->bytes, view->dtype, out, spec.dtype,
                                   element_count(spec.shape).value());
  };
}

}  // namespace

Result<std::unique_ptr<WanGolden>> WanGolden::open(const platform::FileSystem& files,
                                                   const platform::Path& folder,
                                                   const model::ModelOptions& options,
                                                   Storage storage) {
  const platform::Path component = folder / "checkpoint" / "transformer";
  const Result<std::string> config = files.read_text(component / "config.json", kConfigLimitBytes);
  if (!config.ok()) {
    return config.refusal();
  }
  const auto checkpoint = host_weights::ComponentCheckpoint::open(files, component);
  if (!checkpoint.ok()) {
    return checkpoint.refusal();
  }
  Result<GoldenTensors> inputs = read_golden_tensors(files, folder / "inputs.safetensors");
  if (!inputs.ok()) {
    return inputs.refusal();
  }
  const auto json = nlohmann::json::parse(*config, nullptr, /*allow_exceptions=*/false);
  auto made = model::make_wan(json, storage_options(options, storage, *checkpoint));
  if (!made.ok()) {
    return made.refusal();
  }
  std::unique_ptr<WanGolden> golden(new WanGolden());
  golden->inputs_ = std::move(*inputs);
  golden->model_ = std::move(made).value();
  golden->weights_ = std::make_unique<test::ResidentWeights>(
      golden->device_, golden->spec(), checkpoint_values(*checkpoint, options.component));
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
  const Operand latents(device_, input(prefix, "latents"));
  const Operand timestep(device_, input(prefix, "timestep"));
  const Operand text(device_, input(prefix, "encoder_hidden_states"));
  Shape output_shape = latents.tensor().shape;
  require(output_shape.size() == 5, "latents must have five dimensions");
  output_shape[1] = model_->geometry().out_channels;
  const Operand output(device_, output_shape);
  CollectingTap tap(prefix, out);
  model::DitCall call{latents.tensor(), timestep.tensor(), text.tensor(), output.tensor(), &tap};
  model_->forward(device_, call);
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
  const Operand latents(device_, input("pipeline.", "latents"));
  const std::int64_t batch = latents.tensor().shape.at(0);
  const Operand timestep(device_, Shape{batch});
  const Operand prompt(device_, input("pipeline.", "prompt_embeds"));
  const Operand negative(device_, input("pipeline.", "negative_prompt_embeds"));
  const Operand conditional(device_, latents.tensor().shape);
  const Operand unconditional(device_, latents.tensor().shape);
  model::DitCall with{latents.tensor(), timestep.tensor(), prompt.tensor(), conditional.tensor()};
  model::DitCall without{latents.tensor(), timestep.tensor(), negative.tensor(),
                         unconditional.tensor()};
  const std::string prefix = "euler_pipeline.";
  std::vector<float> forward_timesteps;
  for (std::size_t step = 0; step < steps; ++step) {
    model::launch_fill(device_, timestep.tensor(), schedule.timesteps[step]);
    model_->forward(device_, with);
    model_->forward(device_, without);
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
