#include "model/dit_pipeline.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "base/codes.h"
#include "base/error.h"

namespace dlo::model {

namespace {

struct Family {
  std::string_view class_name;
  Result<DitPipeline> (*make)(const PipelineDescription& description, const ModelOptions& options);
};

constexpr std::array kFamilies = {
    Family{"WanTransformer3DModel", make_wan_pipeline},
    Family{"FluxTransformer2DModel", make_flux_pipeline},
    Family{"MiniMaxH3DiTModel", make_h3_pipeline},
};

}  // namespace

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

Status check_steps(const SampleRequest& request) {
  if (request.steps == 0) {
    return refuse(codes::kInvalidValue, "a request needs at least one step", "requests.steps",
                  "set steps to 1 or more");
  }
  return {};
}

}  // namespace dlo::model
