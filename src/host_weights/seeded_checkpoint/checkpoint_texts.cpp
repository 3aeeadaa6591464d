#include "host_weights/seeded_checkpoint/checkpoint_texts.h"

#include "base/json.h"

namespace dlo::host_weights {

namespace {

using nlohmann::json;

constexpr const char* kDiffusersVersion = "0.42.1";

std::string text_of(const json& object) {
  return object.dump(2) + "\n";
}

}  // namespace

std::string model_index_text() {
  const json absent = json::array({nullptr, nullptr});
  return text_of({{"_class_name", "WanPipeline"},
                  {"_diffusers_version", kDiffusersVersion},
                  {"boundary_ratio", nullptr},
                  {"expand_timesteps", false},
                  {"scheduler", json::array({"diffusers", "FlowMatchEulerDiscreteScheduler"})},
                  {"text_encoder", absent},
                  {"tokenizer", absent},
                  {"transformer", json::array({"diffusers", "WanTransformer3DModel"})},
                  {"transformer_2", absent},
                  {"vae", absent}});
}

std::string scheduler_config_text(double shift) {
  return text_of({{"_class_name", "FlowMatchEulerDiscreteScheduler"},
                  {"_diffusers_version", kDiffusersVersion},
                  {"base_image_seq_len", 256},
                  {"base_shift", 0.5},
                  {"invert_sigmas", false},
                  {"max_image_seq_len", 4096},
                  {"max_shift", 1.15},
                  {"num_train_timesteps", 1000},
                  {"shift", shift},
                  {"shift_terminal", nullptr},
                  {"stochastic_sampling", false},
                  {"time_shift_type", "exponential"},
                  {"use_beta_sigmas", false},
                  {"use_dynamic_shifting", false},
                  {"use_exponential_sigmas", false},
                  {"use_karras_sigmas", false}});
}

std::string transformer_config_text(const WanShape& shape, const WanPreset& preset,
                                    const SeededCheckpointOptions& options) {
  json config = wan_config_json(shape);
  config["_dlo_preset"] = preset.name;
  config["_dlo_preset_blocks"] = preset.shape.num_layers;
  config["_dlo_seed"] = options.seed;
  config["_dlo_stored_dtype"] = stored_dtype_name(options.dtype);
  return text_of(config);
}

std::string shard_index_text(const std::vector<WanTensor>& tensors,
                             const std::vector<PlannedShard>& shards) {
  json weight_map = json::object();
  std::uint64_t total_bytes = 0;
  for (const auto& shard : shards) {
    total_bytes += shard.tensor_bytes;
    for (const auto index : shard.tensors) {
      weight_map[tensors[index].name] = shard.file_name;
    }
  }
  return text_of({{"metadata", {{"total_size", total_bytes}}}, {"weight_map", weight_map}});
}

}  // namespace dlo::host_weights
