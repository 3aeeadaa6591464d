#include "model/wan/wan_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "model/spec_writer.h"

namespace dlo::model {

namespace {

// diffusers' WanTransformer3DModel._keep_in_fp32_modules that have parameters: a tensor stays F32
// when one part of its dotted name is among these.
constexpr std::array<std::string_view, 5> kFp32Modules = {"time_embedder", "scale_shift_table",
                                                          "norm1", "norm2", "norm3"};

bool is_fp32_module(std::string_view name) {
  while (!name.empty()) {
    const std::size_t dot = std::min(name.find('.'), name.size());
    const std::string_view part = name.substr(0, dot);
    if (std::find(kFp32Modules.begin(), kFp32Modules.end(), part) != kFp32Modules.end()) {
      return true;
    }
    name.remove_prefix(std::min(dot + 1, name.size()));
  }
  return false;
}

// Closes an attention whose projections are written.
void describe_attention_end(SpecWriter& writer, const std::string& name, std::int64_t hidden) {
  writer.linear(name + ".to_out.0", hidden, hidden);
  writer.tensor(name + ".norm_q.weight", {hidden});
  writer.tensor(name + ".norm_k.weight", {hidden});
}

void describe_block(const WanConfig& config, const ModelOptions& options, std::int64_t index,
                    contracts::DitSpec& dit) {
  const std::int64_t hidden = config.hidden();
  const std::string prefix = fmt::format("blocks.{}.", index);
  contracts::BlockSpec& block = dit.blocks.emplace_back();
  block.name = fmt::format("{}.blocks.{}", options.component, index);
  SpecWriter writer(options, is_fp32_module, prefix, dit, block);
  writer.tensor("scale_shift_table", {1, 6, hidden});
  writer.qkv("attn1.", {}, hidden, hidden);
  describe_attention_end(writer, "attn1", hidden);
  for (const char* part : {"attn2.to_q", "attn2.to_k", "attn2.to_v"}) {
    writer.linear(part, hidden, hidden);
  }
  describe_attention_end(writer, "attn2", hidden);
  if (config.cross_attn_norm) {
    writer.tensor("norm2.weight", {hidden});
    writer.tensor("norm2.bias", {hidden});
  }
  writer.linear("ffn.net.0.proj", config.ffn_dim, hidden);
  writer.linear("ffn.net.2", hidden, config.ffn_dim);
}

void describe_edges(const WanConfig& config, const ModelOptions& options, contracts::DitSpec& dit) {
  const std::int64_t hidden = config.hidden();
  const auto& patch = config.patch_size;
  dit.non_block.name = options.component + " (non-block)";
  SpecWriter writer(options, is_fp32_module, "", dit, dit.non_block);
  writer.tensor("scale_shift_table", {1, 2, hidden});
  writer.tensor("patch_embedding.weight",
                {hidden, config.in_channels, patch[0], patch[1], patch[2]});
  writer.tensor("patch_embedding.bias", {hidden});
  writer.linear("condition_embedder.time_embedder.linear_1", hidden, config.freq_dim);
  writer.linear("condition_embedder.time_embedder.linear_2", hidden, hidden);
  writer.linear("condition_embedder.time_proj", 6 * hidden, hidden);
  writer.linear("condition_embedder.text_embedder.linear_1", hidden, config.text_dim);
  writer.linear("condition_embedder.text_embedder.linear_2", hidden, hidden);
  writer.linear("proj_out", config.out_channels * config.patch_volume(), hidden);
}

}  // namespace

contracts::DitSpec describe_wan(const WanConfig& config, const ModelOptions& options) {
  contracts::DitSpec spec;
  spec.name = options.component;
  spec.loading.model_class = "WanTransformer3DModel";
  spec.blocks.reserve(static_cast<std::size_t>(config.num_layers));
  for (std::int64_t index = 0; index < config.num_layers; ++index) {
    describe_block(config, options, index, spec);
  }
  describe_edges(config, options, spec);
  return spec;
}

}  // namespace dlo::model
