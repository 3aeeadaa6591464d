#include "host_weights/seeded_checkpoint/checkpoint_texts.h"

namespace dlo::host_weights {

namespace {

using nlohmann::json;

json absent() {
  return json::array({nullptr, nullptr});
}

json diffusers(const char* class_name) {
  return json::array({"diffusers", class_name});
}

constexpr const char* kScheduler = "FlowMatchEulerDiscreteScheduler";

}  // namespace

std::string file_text(const json& document) {
  return document.dump(2) + "\n";
}

json wan_index_json(std::optional<double> boundary_ratio) {
  const json transformer = diffusers("WanTransformer3DModel");
  return {{"_class_name", "WanPipeline"},
          {"_diffusers_version", kDiffusersVersion},
          {"boundary_ratio", boundary_ratio ? json(*boundary_ratio) : json(nullptr)},
          {"expand_timesteps", false},
          {"scheduler", diffusers(kScheduler)},
          {"text_encoder", absent()},
          {"tokenizer", absent()},
          {"transformer", transformer},
          {"transformer_2", boundary_ratio ? transformer : absent()},
          {"vae", absent()}};
}

json flux_index_json() {
  json index = {{"_class_name", "FluxPipeline"},
                {"_diffusers_version", kDiffusersVersion},
                {"scheduler", diffusers(kScheduler)},
                {"transformer", diffusers("FluxTransformer2DModel")}};
  for (const char* name : {"feature_extractor", "image_encoder", "text_encoder", "text_encoder_2",
                           "tokenizer", "tokenizer_2", "vae"}) {
    index[name] = absent();
  }
  return index;
}

json h3_index_json() {
  return {{"_class_name", "MiniMaxH3Pipeline"},
          {"_minimax_h3", {{"sigma_shift_scales", {{"audio", 3.0}, {"video", 12.0}}}}},
          {"transformer", diffusers("MiniMaxH3DiTModel")}};
}

json scheduler_config_json(double shift, bool dynamic) {
  return {{"_class_name", kScheduler},
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
          {"use_dynamic_shifting", dynamic},
          {"use_exponential_sigmas", false},
          {"use_karras_sigmas", false}};
}

json shard_index_json(const std::vector<SeededTensor>& tensors,
                      const std::vector<PlannedShard>& shards) {
  json weight_map = json::object();
  std::uint64_t total_bytes = 0;
  for (const auto& shard : shards) {
    total_bytes += shard.tensor_bytes;
    for (const auto index : shard.tensors) {
      weight_map[tensors[index].name] = shard.file_name;
    }
  }
  return {{"metadata", {{"total_size", total_bytes}}}, {"weight_map", weight_map}};
}

}  // namespace dlo::host_weights
