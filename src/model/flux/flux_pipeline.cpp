#include "base/codes.h"
#include "model/dit_pipeline.h"
#include "model/flux/flux_sampler.h"

namespace dlo::model {

namespace {

Status check_request(const DitModel& model, const SampleRequest& request) {
  if (auto status = check_steps(request); !status) {
    return status;
  }
  if (request.latent_grid[0] != 1) {
    return refuse(codes::kInvalidValue, "an image has one frame", "requests.latent_frames",
                  "set latent_frames to 1");
  }
  return model.geometry().check_grid(request.latent_grid);
}

}  // namespace

Result<DitPipeline> make_flux_pipeline(const PipelineDescription& description,
                                       const ModelOptions& options) {
  const auto scheduler = parse_flow_match_euler(description.scheduler);
  if (!scheduler.ok()) {
    return scheduler.refusal();
  }
  if (description.transformers.size() != 1) {
    return refuse(codes::kNotInThisProduct, "the pipeline has several transformers",
                  "model_index.json", "use a FLUX.1 checkpoint, which has one");
  }
  DitPipeline pipeline;
  if (auto made = make_transformers(description, options, make_flux, pipeline); !made) {
    return made.refusal();
  }
  pipeline.make_sampler = [model = pipeline.transformers.front().get(), settings = *scheduler](
                              const SampleRequest& request) -> Result<std::unique_ptr<Sampler>> {
    if (auto status = check_request(*model, request); !status) {
      return status.refusal();
    }
    return std::unique_ptr<Sampler>(std::make_unique<FluxSampler>(*model, settings, request));
  };
  return pipeline;
}

}  // namespace dlo::model
