#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "base/codes.h"
#include "base/error.h"
#include "model/dit_pipeline.h"
#include "model/latent_ops.h"
#include "model/schedulers/flow_match_euler.h"
#include "model/wan/wan_sampler.h"

namespace dlo::model {

namespace {

// Settings of the Euler scheduler that stands in for the checkpoint's own.
nlohmann::json euler_settings(const PipelineDescription& description,
                              std::vector<std::string>& notes) {
  if (description.scheduler_class != "UniPCMultistepScheduler") {
    return description.scheduler;
  }
  const double shift = description.scheduler.value("flow_shift", 1.0);
  notes.push_back(fmt::format(
      "scheduler UniPCMultistepScheduler replaced by flow-match Euler, shift {}", shift));
  return nlohmann::json{
      {"_class_name", "FlowMatchEulerDiscreteScheduler"},
      {"num_train_timesteps", description.scheduler.value("num_train_timesteps", 1000)},
      {"shift", shift}};
}

// The share of the noise above which the first of two transformers works.
Result<double> boundary_of(const PipelineDescription& description) {
  constexpr const char* kWhere = "boundary_ratio of model_index.json";
  const std::size_t count = description.transformers.size();
  const auto field = description.fields.find("boundary_ratio");
  const bool given = field != description.fields.end() && !field->is_null();
  if (count == 1 && !given) {
    return 0.0;
  }
  if (count != 2 || !given) {
    return refuse(
        codes::kCheckpointInvalid,
        fmt::format("the pipeline has {} transformers and {} boundary", count, given ? "a" : "no"),
        kWhere, "two transformers need a boundary between them, one has none");
  }
  if (!field->is_number() || *field < 0.0 || *field > 1.0) {
    return refuse(codes::kCheckpointInvalid, "the boundary must be a number from 0 to 1", kWhere,
                  "use the model_index.json that belongs to the checkpoint");
  }
  return field->get<double>();
}

}  // namespace

Result<DitPipeline> make_wan_pipeline(const PipelineDescription& description,
                                      const ModelOptions& options) {
  DitPipeline pipeline;
  const auto scheduler = parse_flow_match_euler(euler_settings(description, pipeline.notes));
  if (!scheduler.ok()) {
    return scheduler.refusal();
  }
  const auto boundary = boundary_of(description);
  if (!boundary.ok()) {
    return boundary.refusal();
  }
  if (auto made = make_transformers(description, options, make_wan, pipeline); !made) {
    return made.refusal();
  }
  pipeline.offload_plan.on_demand_component_paths.emplace(kTextEncoderPath);
  const auto text_dim = pipeline.transformers.front()->geometry().text_dim;
  if (auto made = make_text_encoder(description, options, text_dim, pipeline); !made) {
    return made.refusal();
  }
  std::vector<DitModel*> models;
  for (const auto& transformer : pipeline.transformers) {
    models.push_back(transformer.get());
  }
  pipeline.make_sampler = [models, settings = *scheduler, ratio = *boundary](
                              const SampleRequest& request) -> Result<std::unique_ptr<Sampler>> {
    if (auto status = check_steps(request); !status) {
      return status.refusal();
    }
    if (auto status = models.front()->geometry().check_grid(request.latent_grid); !status) {
      return status.refusal();
    }
    return std::unique_ptr<Sampler>(std::make_unique<WanSampler>(models, settings, ratio, request));
  };
  return pipeline;
}

}  // namespace dlo::model
