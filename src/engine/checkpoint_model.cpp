#include "engine/checkpoint_model.h"

#include <fmt/format.h>

#include "base/codes.h"
#include "host_weights/model_index.h"
#include "model/model_factory.h"

namespace dlo::engine {

namespace {

// Settings of the Euler scheduler that stands in for the checkpoint's own.
nlohmann::json euler_settings(const host_weights::ComponentConfig& scheduler,
                              std::vector<std::string>& notes) {
  if (scheduler.entry.class_name != "UniPCMultistepScheduler") {
    return scheduler.config;
  }
  const double shift = scheduler.config.value("flow_shift", 1.0);
  notes.push_back(fmt::format(
      "scheduler UniPCMultistepScheduler replaced by flow-match Euler, shift {}", shift));
  return nlohmann::json{
      {"_class_name", "FlowMatchEulerDiscreteScheduler"},
      {"num_train_timesteps", scheduler.config.value("num_train_timesteps", 1000)},
      {"shift", shift}};
}

}  // namespace

Result<CheckpointModel> read_checkpoint_model(const platform::FileSystem& files,
                                              const ModelSpec& spec,
                                              const platform::Device& device) {
  auto configs = host_weights::read_pipeline_configs(files, spec.checkpoint);
  if (!configs.ok()) {
    return configs.refusal();
  }
  if (configs->transformers.size() > 1) {
    return refuse(codes::kNotInThisProduct, "the pipeline has several diffusion transformers",
                  spec.checkpoint.string(), "use a checkpoint with one transformer");
  }
  CheckpointModel result;
  auto scheduler = model::parse_flow_match_euler(euler_settings(configs->scheduler, result.notes));
  if (!scheduler.ok()) {
    return scheduler.refusal();
  }
  result.scheduler = *scheduler;
  const auto& transformer = configs->transformers.front();
  model::ModelOptions options;
  options.component = transformer.entry.name;
  options.device = model::compute_device(device);
  options.runtime_dtype = spec.runtime_dtype;
  options.keep_fp32_modules = spec.keep_fp32_modules;
  options.compute_dtype = spec.compute_dtype;
  options.attention =
      spec.attention == "fused" ? model::AttentionBackend::kFused : model::AttentionBackend::kPlain;
  auto made = model::make_wan(transformer.config, options);
  if (!made.ok()) {
    return made.refusal();
  }
  result.transformer = std::move(made).value();
  return result;
}

}  // namespace dlo::engine
