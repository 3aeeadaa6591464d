#include "host_weights/seeded_checkpoint/h3_checkpoint.h"

#include <fmt/format.h>

#include <string>

namespace dlo::host_weights {

namespace {

constexpr double kEps = 1e-5;
// Shift, scale and gate of attention and feed-forward, for each of three kinds of rows.
constexpr std::int64_t kModulationRows = 18;

constexpr std::array kPresets = {
    H3Preset{"h3_tiny",
             {.hidden_size = 64,
              .num_layers = 2,
              .num_refiner_layers = 1,
              .num_attention_heads = 2,
              .attention_head_dim = 32,
              .ffn_dim = 128,
              .text_dim = 40,
              .freq_dim = 16,
              .time_hidden_dim = 48,
              .time_dim = 24,
              .rope_frequencies = 4}},
    H3Preset{"h3_cpu",
             {.hidden_size = 192,
              .num_layers = 6,
              .num_refiner_layers = 2,
              .num_attention_heads = 4,
              .attention_head_dim = 64,
              .ffn_dim = 512,
              .text_dim = 128,
              .freq_dim = 64,
              .time_hidden_dim = 192,
              .time_dim = 96,
              .rope_frequencies = 8}},
    H3Preset{"h3_16", {.num_layers = 16}},
    H3Preset{"h3_full", {}},
};

void add_block(TensorList& list, const std::string& prefix, const H3Shape& shape) {
  const std::int64_t hidden = shape.hidden_size;
  list.norm_weight(prefix + "norm1", hidden, false);
  list.projection({prefix + "attn.qkv_proj.weight", 3 * shape.inner(), hidden});
  list.norm_weight(prefix + "attn.q_norm", shape.attention_head_dim, false);
  list.norm_weight(prefix + "attn.k_norm", shape.attention_head_dim, false);
  list.projection({prefix + "attn.out_proj.weight", hidden, shape.inner(), kResidualFactor});
  list.norm_weight(prefix + "norm2", hidden, false);
  list.projection({prefix + "mlp.fc1.weight", 2 * shape.ffn_dim, hidden});
  list.projection({prefix + "mlp.fc2.weight", hidden, shape.ffn_dim, kResidualFactor});
}

void add_wide(TensorList& list, const std::string& name, std::int64_t out, std::int64_t in) {
  list.linear({name, out, in, 1.0F, true});
}

}  // namespace

std::span<const H3Preset> h3_presets() {
  return kPresets;
}

nlohmann::json h3_config_json(const H3Shape& shape) {
  return {{"_class_name", "MiniMaxH3DiTModel"},
          {"adaln_out_features", kModulationRows * shape.hidden_size},
          {"attention_head_dim", shape.attention_head_dim},
          {"audio_latents_dim", shape.audio_channels},
          {"ffn_hidden_size", shape.ffn_dim},
          {"final_adaln_out_features", 2 * shape.hidden_size},
          {"final_norm_eps", kEps},
          {"hidden_size", shape.hidden_size},
          {"latents_dim", shape.in_channels},
          {"norm_eps", kEps},
          {"num_attention_heads", shape.num_attention_heads},
          {"num_layers", shape.num_layers},
          {"patch_size", shape.patch_size},
          {"qk_norm_eps", kEps},
          {"rope_inv_freq_len", shape.rope_frequencies},
          {"text_dim", shape.text_dim},
          {"time_embed_dim", shape.time_dim},
          {"time_embed_hidden_size", shape.time_hidden_dim},
          {"timestep_input_dim", shape.freq_dim},
          {"token_refiner_num_layers", shape.num_refiner_layers}};
}

std::vector<SeededTensor> h3_tensors(const H3Shape& shape) {
  const std::int64_t hidden = shape.hidden_size;
  TensorList list;
  add_wide(list, "video_patch_proj", hidden, shape.video_channels());
  add_wide(list, "audio_patch_proj", hidden, shape.audio_channels);
  list.linear({"condition_proj", hidden, shape.text_dim});
  add_wide(list, "time_embedder.proj_in", shape.time_hidden_dim, shape.freq_dim);
  add_wide(list, "time_embedder.proj_out", shape.time_dim, shape.time_hidden_dim);
  for (std::int64_t block = 0; block < shape.num_refiner_layers; ++block) {
    add_block(list, fmt::format("token_refiner.blocks.{}.", block), shape);
  }
  list.norm_weight("token_refiner.final_norm", hidden, false);
  for (std::int64_t block = 0; block < shape.num_layers; ++block) {
    const std::string prefix = fmt::format("blocks.{}.", block);
    add_block(list, prefix, shape);
    list.linear({prefix + "adaln_proj.linear", kModulationRows * hidden, shape.time_dim});
  }
  list.norm_weight("final_layer.norm", hidden, false);
  list.linear({"final_layer.adaln_proj.linear", 2 * hidden, shape.time_dim});
  add_wide(list, "final_layer.video_out", shape.video_channels(), hidden);
  add_wide(list, "final_layer.audio_out", shape.audio_channels, hidden);
  SeededTensor frequencies{"rope.inv_freq", {shape.rope_frequencies}, 0.0F, 0.0F, true};
  frequencies.values = SeededValues::kInverseFrequencies;
  list.add(std::move(frequencies));
  return list.take();
}

}  // namespace dlo::host_weights
