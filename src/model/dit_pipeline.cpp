#include "model/dit_pipeline.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "base/codes.h"
#include "base/error.h"

namespace dlo::model {

namespace {

struct Family {
  std::string_view class_name;
  Result<DitPipeline> (*make)(const PipelineDescription& description, const ModelOptions& options);
  bool takes_prompts;
};

constexpr std::array kFamilies = {
    Family{"WanTransformer3DModel", make_wan_pipeline, true},
    Family{"FluxTransformer2DModel", make_flux_pipeline, false},
    Family{"MiniMaxH3DiTModel", make_h3_pipeline, false},
};

constexpr std::string_view kUmt5Class = "UMT5EncoderModel";

}  // namespace

Status check_takes_prompts(const PipelineDescription& description) {
  require(!description.transformers.empty(), "a pipeline needs a transformer");
  const auto& first = description.transformers.front();
  for (const auto& family : kFamilies) {
    if (family.class_name == first.class_name && family.takes_prompts) {
      return {};
    }
  }
  return refuse(codes::kNotInThisProduct,
                fmt::format("prompts are not encoded for a {}", first.class_name), first.component,
                "leave prompt_tokens out: text states are then seeded, or use a Wan checkpoint");
}

Result<DitPipeline> make_dit_pipeline(const PipelineDescription& description,
                                      const ModelOptions& options) {
  require(!description.transformers.empty(), "a pipeline needs a transformer");
  const auto& first = description.transformers.front();
  for (const auto& transformer : description.transformers) {
    if (transformer.class_name != first.class_name) {
      return refuse(codes::kNotInThisProduct, "the pipeline has transformers of two classes",
                    transformer.component, "use a checkpoint whose transformers are of one class");
    }
  }
  for (const auto& family : kFamilies) {
    if (family.class_name == first.class_name) {
      return family.make(description, options);
    }
  }
  return refuse(codes::kNotInThisProduct,
                fmt::format("no model of this product is a {}", first.class_name), first.component,
                "use a Wan, FLUX.1 or MiniMax-H3 checkpoint");
}

Status make_transformers(const PipelineDescription& description, const ModelOptions& options,
                         MakeDit make, DitPipeline& pipeline) {
  ModelOptions own = options;
  for (const auto& transformer : description.transformers) {
    own.component = transformer.component;
    auto made = make(transformer.config, own);
    if (!made.ok()) {
      return made.refusal();
    }
    own.ring += 1 + static_cast<std::int32_t>((*made)->child_rings().size());
    pipeline.offload_plan.resident_dit_paths.insert((*made)->spec().name);
    pipeline.transformers.push_back(std::move(made).value());
  }
  return {};
}

Status make_text_encoder(const PipelineDescription& description, const ModelOptions& options,
                         std::int64_t text_dim, DitPipeline& pipeline) {
  if (!description.text_encoder) {
    return {};
  }
  const auto& encoder = *description.text_encoder;
  const std::string path(kTextEncoderPath);
  if (encoder.class_name != kUmt5Class) {
    return refuse(
        codes::kNotInThisProduct, fmt::format("the text encoder is a {}", encoder.class_name), path,
        fmt::format("use a checkpoint with a {}, or leave prompt_tokens out", kUmt5Class));
  }
  ModelOptions own = options;
  own.component = path;
  auto made = make_umt5(encoder.config, own);
  if (!made.ok()) {
    return made.refusal();
  }
  const auto width = (*made)->geometry().width;
  if (width != text_dim) {
    return refuse(codes::kCheckpointInvalid,
                  fmt::format("the text encoder makes states of {} channels, the transformer reads "
                              "{}",
                              width, text_dim),
                  path, "use components of one checkpoint");
  }
  pipeline.text_encoder = std::move(made).value();
  return {};
}

Status check_steps(const SampleRequest& request) {
  if (request.steps == 0) {
    return refuse(codes::kInvalidValue, "a request needs at least one step", "requests.steps",
                  "set steps to 1 or more");
  }
  return {};
}

}  // namespace dlo::model
