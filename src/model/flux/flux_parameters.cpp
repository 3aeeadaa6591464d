#include "model/flux/flux_parameters.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "model/spec_writer.h"

namespace dlo::model {

namespace {

constexpr QkvNames kTextStream = {"add_q_proj", "add_k_proj", "add_v_proj", "add_kv_proj"};

// The class keeps no module in fp32.
bool is_fp32_module(std::string_view /*name*/) {
  return false;
}

void describe_feed_forward(SpecWriter& writer, const std::string& name, const FluxConfig& config) {
  writer.linear(name + ".net.0.proj", config.mlp_hidden(), config.hidden());
  writer.linear(name + ".net.2", config.hidden(), config.mlp_hidden());
}

void describe_head_norms(SpecWriter& writer, const std::string& query, const std::string& key,
                         const FluxConfig& config) {
  writer.tensor(query, {config.attention_head_dim});
  writer.tensor(key, {config.attention_head_dim});
}

void describe_dual(SpecWriter& writer, const FluxConfig& config) {
  const std::int64_t hidden = config.hidden();
  writer.linear("norm1.linear", 6 * hidden, hidden);
  writer.linear("norm1_context.linear", 6 * hidden, hidden);
  describe_head_norms(writer, "attn.norm_q.weight", "attn.norm_k.weight", config);
  writer.qkv("attn.", {}, hidden, hidden);
  writer.linear("attn.to_out.0", hidden, hidden);
  describe_head_norms(writer, "attn.norm_added_q.weight", "attn.norm_added_k.weight", config);
  writer.qkv("attn.", kTextStream, hidden, hidden);
  writer.linear("attn.to_add_out", hidden, hidden);
  describe_feed_forward(writer, "ff", config);
  describe_feed_forward(writer, "ff_context", config);
}

void describe_single(SpecWriter& writer, const FluxConfig& config) {
  const std::int64_t hidden = config.hidden();
  writer.linear("norm.linear", 3 * hidden, hidden);
  writer.linear("proj_mlp", config.mlp_hidden(), hidden);
  writer.linear("proj_out", hidden, hidden + config.mlp_hidden());
  describe_head_norms(writer, "attn.norm_q.weight", "attn.norm_k.weight", config);
  writer.qkv("attn.", {}, hidden, hidden);
}

using DescribeBlock = void (*)(SpecWriter& writer, const FluxConfig& config);

void describe_list(const FluxConfig& config, const ModelOptions& options, const std::string& list,
                   std::int64_t count, DescribeBlock describe, contracts::DitSpec& dit) {
  for (std::int64_t index = 0; index < count; ++index) {
    contracts::BlockSpec& block = dit.blocks.emplace_back();
    block.name = fmt::format("{}.{}.{}", options.component, list, index);
    SpecWriter writer(options, is_fp32_module, fmt::format("{}.{}.", list, index), dit, block);
    describe(writer, config);
  }
}

void describe_edges(const FluxConfig& config, const ModelOptions& options,
                    contracts::DitSpec& dit) {
  const std::int64_t hidden = config.hidden();
  dit.non_block.name = options.component + " (non-block)";
  SpecWriter writer(options, is_fp32_module, "", dit, dit.non_block);
  const auto describe_embedder = [&](const std::string& name, std::int64_t in_features) {
    writer.linear("time_text_embed." + name + ".linear_1", hidden, in_features);
    writer.linear("time_text_embed." + name + ".linear_2", hidden, hidden);
  };
  describe_embedder("timestep_embedder", kFluxTimeChannels);
  if (config.guidance_embeds) {
    describe_embedder("guidance_embedder", kFluxTimeChannels);
  }
  describe_embedder("text_embedder", config.pooled_projection_dim);
  writer.linear("context_embedder", hidden, config.joint_attention_dim);
  writer.linear("x_embedder", hidden, config.in_channels);
  writer.linear("norm_out.linear", 2 * hidden, hidden);
  writer.linear("proj_out", config.out_channels, hidden);
}

}  // namespace

contracts::DitSpec describe_flux(const FluxConfig& config, const ModelOptions& options) {
  contracts::DitSpec spec;
  spec.name = options.component;
  spec.loading.model_class = "FluxTransformer2DModel";
  spec.blocks.reserve(static_cast<std::size_t>(config.num_layers + config.num_single_layers));
  describe_list(config, options, "transformer_blocks", config.num_layers, describe_dual, spec);
  describe_list(config, options, "single_transformer_blocks", config.num_single_layers,
                describe_single, spec);
  describe_edges(config, options, spec);
  return spec;
}

}  // namespace dlo::model
