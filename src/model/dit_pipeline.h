// Owns: DitPipeline, the diffusion transformers of one checkpoint folder and the way they are
// sampled, made from the folder's configuration files by the class that they name.
// Must not own: weights, files, requests. Free of torch: the engine serves every family through
// this header and knows none by name.
// Threading: launching thread. A pipeline may be moved; what its samplers point to stays.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "contracts/offload_plan.h"
#include "model/model_factory.h"
#include "model/sampler.h"
#include "model/text/text_encoder.h"

namespace dlo::model {

// Its folder in a checkpoint, and its path in an OffloadPlan.
inline constexpr std::string_view kTextEncoderPath = "text_encoder";

// What a folder's configuration files say.
struct PipelineDescription {
  struct Transformer {
    std::string component;   // "transformer", "transformer_2"
    std::string class_name;  // "WanTransformer3DModel"
    nlohmann::json config;
  };
  struct Encoder {
    std::string class_name;  // "UMT5EncoderModel"
    nlohmann::json config;
  };
  std::vector<Transformer> transformers;  // at least one, all of one class
  std::optional<Encoder> text_encoder;    // only where requests bring prompts
  std::string scheduler_class;            // empty: the pipeline has no scheduler component
  nlohmann::json scheduler;               // its configuration
  nlohmann::json fields;                  // of model_index.json: boundary_ratio, ...
};

struct DitPipeline {
  std::vector<std::unique_ptr<DitModel>> transformers;
  // Refusals: invalid_value for a request that the transformers cannot serve. The sampler points
  // to the transformers.
  std::function<Result<std::unique_ptr<Sampler>>(const SampleRequest&)> make_sampler;
  std::vector<std::string> notes;             // what was substituted, one sentence each
  std::unique_ptr<TextEncoder> text_encoder;  // null: text states are seeded
  // Every transformer denoises, so each may keep leading blocks; the rest is the family's.
  contracts::OffloadPlan offload_plan;
};

// Refuses (not_in_this_product) unless the family of the first transformer encodes prompts.
[[nodiscard]] Status check_takes_prompts(const PipelineDescription& description);

// The family of the first transformer's class. `options.component` and `options.ring` are filled in
// for each transformer, rings counted with those of children. Refusals: not_in_this_product for a
// class that no family has, and those of the family.
[[nodiscard]] Result<DitPipeline> make_dit_pipeline(const PipelineDescription& description,
                                                    const ModelOptions& options);

// One a family; make_dit_pipeline picks by class.
[[nodiscard]] Result<DitPipeline> make_wan_pipeline(const PipelineDescription& description,
                                                    const ModelOptions& options);
[[nodiscard]] Result<DitPipeline> make_flux_pipeline(const PipelineDescription& description,
                                                     const ModelOptions& options);
[[nodiscard]] Result<DitPipeline> make_h3_pipeline(const PipelineDescription& description,
                                                   const ModelOptions& options);

// For families: makes every transformer of `description` with `make` into `pipeline`, each with its
// component's name and the number of its first ring.
using MakeDit = Result<std::unique_ptr<DitModel>> (*)(const nlohmann::json& config,
                                                      const ModelOptions& options);
[[nodiscard]] Status make_transformers(const PipelineDescription& description,
                                       const ModelOptions& options, MakeDit make,
                                       DitPipeline& pipeline);

// For families that encode prompts: the encoder that `description` names, if it names one, for
// transformers that read states of `text_dim` channels. Refusals: not_in_this_product (another
// class), checkpoint_invalid (another width), those of make_umt5.
[[nodiscard]] Status make_text_encoder(const PipelineDescription& description,
                                       const ModelOptions& options, std::int64_t text_dim,
                                       DitPipeline& pipeline);

// For families: refuses (invalid_value) a request without a step.
[[nodiscard]] Status check_steps(const SampleRequest& request);

}  // namespace dlo::model
