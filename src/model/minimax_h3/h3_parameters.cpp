#include "model/minimax_h3/h3_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "model/spec_writer.h"

namespace dlo::model {

namespace {

constexpr const char* kClassName = "MiniMaxH3DiTModel";

// Both input projections, the time MLP, both output heads and the rotary frequencies.
constexpr std::array<std::string_view, 6> kFp32Prefixes = {
    "video_patch_proj.",      "audio_patch_proj.",      "time_embedder.",
    "final_layer.video_out.", "final_layer.audio_out.", "rope."};

bool is_fp32_module(std::string_view name) {
  return std::any_of(kFp32Prefixes.begin(), kFp32Prefixes.end(),
                     [name](std::string_view prefix) { return name.starts_with(prefix); });
}

// What a block of the stack and a block of the refiner have in common.
void describe_block(SpecWriter& writer, const H3Config& config) {
  writer.tensor("norm1.weight", {config.hidden_size});
  writer.grouped_qkv("attn.qkv_proj.weight", config.num_attention_heads, config.attention_head_dim,
                     config.hidden_size);
  writer.tensor("attn.q_norm.weight", {config.attention_head_dim});
  writer.tensor("attn.k_norm.weight", {config.attention_head_dim});
  writer.tensor("attn.out_proj.weight", {config.hidden_size, config.inner()});
  writer.tensor("norm2.weight", {config.hidden_size});
  writer.tensor("mlp.fc1.weight", {2 * config.ffn_dim, config.hidden_size});
  writer.tensor("mlp.fc2.weight", {config.hidden_size, config.ffn_dim});
}

contracts::BlockSpec& add_block(contracts::DitSpec& dit, std::int64_t index) {
  contracts::BlockSpec& block = dit.blocks.emplace_back();
  block.name = fmt::format("{}.blocks.{}", dit.name, index);
  return block;
}

void describe_edges(const H3Config& config, const ModelOptions& options, contracts::DitSpec& dit) {
  const std::int64_t hidden = config.hidden_size;
  dit.non_block.name = options.component + " (non-block)";
  SpecWriter writer(options, is_fp32_module, "", dit, dit.non_block);
  writer.linear("video_patch_proj", hidden, config.video_channels());
  writer.linear("audio_patch_proj", hidden, config.audio_channels);
  writer.linear("condition_proj", hidden, config.text_dim);
  writer.linear("time_embedder.proj_in", config.time_hidden_dim, config.freq_dim);
  writer.linear("time_embedder.proj_out", config.time_dim, config.time_hidden_dim);
  writer.tensor("final_layer.norm.weight", {hidden});
  writer.linear("final_layer.adaln_proj.linear", 2 * hidden, config.time_dim);
  writer.linear("final_layer.video_out", config.video_channels(), hidden);
  writer.linear("final_layer.audio_out", config.audio_channels, hidden);
  writer.tensor("rope.inv_freq", {config.rope_frequencies},
                contracts::TensorKind::kPersistentBuffer);
}

}  // namespace

contracts::DitSpec describe_h3(const H3Config& config, const ModelOptions& options) {
  contracts::DitSpec spec;
  spec.name = options.component;
  spec.loading.model_class = kClassName;
  spec.blocks.reserve(static_cast<std::size_t>(config.num_layers));
  for (std::int64_t index = 0; index < config.num_layers; ++index) {
    contracts::BlockSpec& block = add_block(spec, index);
    SpecWriter writer(options, is_fp32_module, fmt::format("blocks.{}.", index), spec, block);
    describe_block(writer, config);
    writer.linear("adaln_proj.linear", 6 * kH3Modalities * config.hidden_size, config.time_dim);
  }
  describe_edges(config, options, spec);
  return spec;
}

contracts::DitSpec describe_h3_refiner(const H3Config& config, const ModelOptions& options) {
  contracts::DitSpec spec;
  spec.name = options.component + ".token_refiner";
  spec.parent = options.component;
  spec.loading.model_class = kClassName;
  spec.blocks.reserve(static_cast<std::size_t>(config.num_refiner_layers));
  for (std::int64_t index = 0; index < config.num_refiner_layers; ++index) {
    contracts::BlockSpec& block = add_block(spec, index);
    SpecWriter writer(options, is_fp32_module, fmt::format("token_refiner.blocks.{}.", index), spec,
                      block);
    describe_block(writer, config);
  }
  spec.non_block.name = spec.name + " (non-block)";
  SpecWriter writer(options, is_fp32_module, "token_refiner.", spec, spec.non_block);
  writer.tensor("final_norm.weight", {config.hidden_size});
  return spec;
}

}  // namespace dlo::model
