#include <fmt/format.h>

#include <string>

#include "base/codes.h"
#include "model/dit_pipeline.h"
#include "model/minimax_h3/h3_sampler.h"
#include "model/minimax_h3/packed_layout.h"

namespace dlo::model {

namespace {

// Of the published pipeline: two rows of audio for each latent frame of video.
constexpr std::int64_t kAudioRowsPerFrame = 2;

// "_minimax_h3": {"sigma_shift_scales": {"video": 12.0, "audio": 3.0}} of model_index.json; what is
// not there keeps its published value.
Result<H3Shifts> read_shifts(const nlohmann::json& fields) {
  H3Shifts shifts;
  const nlohmann::json* scales = &fields;
  for (const char* name : {"_minimax_h3", "sigma_shift_scales"}) {
    const auto found = scales->find(name);
    if (found == scales->end()) {
      return shifts;
    }
    scales = &*found;
  }
  for (const auto& [name, value] :
       {std::pair{"video", &shifts.video}, std::pair{"audio", &shifts.audio}}) {
    const auto found = scales->find(name);
    if (found == scales->end()) {
      continue;
    }
    if (!found->is_number() || *found <= 0.0) {
      return refuse(codes::kCheckpointInvalid,
                    fmt::format("the {} shift must be a positive number", name),
                    "sigma_shift_scales of model_index.json",
                    "use the model_index.json that belongs to the checkpoint");
    }
    *value = found->get<double>();
  }
  return shifts;
}

// A conditioning frame, two rows of audio a frame, the video.
PackedRequest rows_of(const DitGeometry& geometry, const SampleRequest& request) {
  PackedRequest packed;
  packed.text_rows = request.text_tokens;
  for (std::size_t axis = 0; axis < packed.video_grid.size(); ++axis) {
    packed.video_grid[axis] = request.latent_grid[axis] / geometry.patch_size[axis];
  }
  packed.conditioning_grid = {packed.video_grid[1], packed.video_grid[2]};
  packed.audio_rows = kAudioRowsPerFrame * request.latent_grid[0];
  return packed;
}

}  // namespace

Result<DitPipeline> make_h3_pipeline(const PipelineDescription& description,
                                     const ModelOptions& options) {
  const auto shifts = read_shifts(description.fields);
  if (!shifts.ok()) {
    return shifts.refusal();
  }
  if (description.transformers.size() != 1) {
    return refuse(codes::kNotInThisProduct, "the pipeline has several transformers",
                  "model_index.json", "use a MiniMax-H3 checkpoint, which has one");
  }
  DitPipeline pipeline;
  // Streamed whatever its size: the reference's plan names it.
  pipeline.offload_plan.offload_submodules = {{"token_refiner", "blocks"}};
  if (auto made = make_transformers(description, options, make_h3, pipeline); !made) {
    return made.refusal();
  }
  pipeline.make_sampler = [model = pipeline.transformers.front().get(), scales = *shifts](
                              const SampleRequest& request) -> Result<std::unique_ptr<Sampler>> {
    if (auto status = check_steps(request); !status) {
      return status.refusal();
    }
    if (auto status = model->geometry().check_grid(request.latent_grid); !status) {
      return status.refusal();
    }
    const PackedRequest packed = rows_of(model->geometry(), request);
    return std::unique_ptr<Sampler>(
        std::make_unique<H3Sampler>(*model, scales, request.steps, make_packed_layout(packed),
                                    packed.conditioning_grid[0] * packed.conditioning_grid[1]));
  };
  return pipeline;
}

}  // namespace dlo::model
