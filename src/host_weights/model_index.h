// Owns: what a diffusers folder says about itself: model_index.json (which components, of which
// class), and the configuration file of each component as a JSON object.
// Must not own: weights (ordinary_loader.h), or what a model makes of its configuration (model/).
// Threading: pure functions over a FileSystem.
// Failure: file_not_found and file_unreadable of the file system; checkpoint_invalid for a missing
// field, a wrong type or a class that contradicts model_index.json; not_in_this_product for a class
// that this product does not have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "platform/file_system.h"

namespace dlo::host_weights {

inline constexpr std::string_view kModelIndexName = "model_index.json";
inline constexpr std::string_view kTextEncoderName = "text_encoder";
inline constexpr std::string_view kWanTransformerClass = "WanTransformer3DModel";
inline constexpr std::string_view kFluxTransformerClass = "FluxTransformer2DModel";
inline constexpr std::string_view kH3TransformerClass = "MiniMaxH3DiTModel";  // native layout

// One component that a pipeline has; entries written as [null, null] are absent and not listed.
struct ComponentEntry {
  std::string name;        // folder and component name: "transformer"
  std::string library;     // "diffusers", "transformers"
  std::string class_name;  // "WanTransformer3DModel"

  friend bool operator==(const ComponentEntry&, const ComponentEntry&) = default;
};

struct ModelIndex {
  std::string pipeline_class;              // "WanPipeline"
  std::vector<ComponentEntry> components;  // by name
  nlohmann::json fields;  // other fields: boundary_ratio, expand_timesteps, _minimax_h3

  // Null when the pipeline has no such component.
  [[nodiscard]] const ComponentEntry* find(std::string_view name) const;
};

// Reads `root`/model_index.json.
[[nodiscard]] Result<ModelIndex> read_model_index(const platform::FileSystem& files,
                                                  const platform::Path& root);

// A component's configuration; `config` is the JSON object of its config.json (schedulers:
// scheduler_config.json), whose _class_name equals the entry's; of a component of transformers the
// one entry of its `architectures` does.
struct ComponentConfig {
  ComponentEntry entry;
  platform::Path file;
  nlohmann::json config;
};

[[nodiscard]] Result<ComponentConfig> read_component_config(const platform::FileSystem& files,
                                                            const platform::Path& root,
                                                            const ComponentEntry& entry);

// That of the component "text_encoder". Codes beside those of read_component_config:
// text_encoder_missing when the pipeline or the folder has none.
[[nodiscard]] Result<ComponentConfig> read_text_encoder_config(const platform::FileSystem& files,
                                                               const platform::Path& root,
                                                               const ModelIndex& index);

// What the engine needs to build a pipeline.
struct PipelineConfigs {
  ModelIndex index;
  std::vector<ComponentConfig> transformers;  // by name: transformer, then transformer_2
  ComponentConfig scheduler;                  // without a name when the pipeline has none
};

// Reads the index, every diffusion transformer and the scheduler. A transformer is a component
// named "transformer" or "transformer_<n>"; "transformer" must be there, and "scheduler" but for
// MiniMax-H3, whose schedules need none. Each transformer's class must be one that the product has;
// the fields of a Wan transformer are checked as parse_wan_config does.
[[nodiscard]] Result<PipelineConfigs> read_pipeline_configs(const platform::FileSystem& files,
                                                            const platform::Path& root);

}  // namespace dlo::host_weights
