#include "host_weights/seeded_checkpoint/flux_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/codes.h"
#include "host_weights/seeded_checkpoint/checkpoint_texts.h"

namespace dlo::host_weights {

namespace {

constexpr std::int64_t kTimeChannels = 256;

constexpr std::array kPresets = {
    FluxPreset{"flux_tiny",
               {.num_layers = 2,
                .num_single_layers = 3,
                .attention_head_dim = 16,
                .num_attention_heads = 2,
                .joint_attention_dim = 32,
                .pooled_projection_dim = 32,
                .axes_dims_rope = {4, 4, 8}}},
    FluxPreset{"flux_cpu",
               {.num_layers = 2,
                .num_single_layers = 4,
                .attention_head_dim = 64,
                .num_attention_heads = 4,
                .joint_attention_dim = 256,
                .pooled_projection_dim = 128,
                .axes_dims_rope = {8, 28, 28}}},
    FluxPreset{"flux_dev",
               {.num_layers = 19,
                .num_single_layers = 38,
                .attention_head_dim = 128,
                .num_attention_heads = 24,
                .joint_attention_dim = 4096,
                .pooled_projection_dim = 768}},
};

void add_embedder(TensorList& list, const std::string& name, std::int64_t in, std::int64_t hidden) {
  const std::string prefix = "time_text_embed." + name;
  list.linear({prefix + ".linear_1", hidden, in});
  list.linear({prefix + ".linear_2", hidden, hidden});
}

void add_head_norms(TensorList& list, const std::string& query, const std::string& key,
                    const FluxShape& shape) {
  list.norm_weight(query, shape.attention_head_dim, false);
  list.norm_weight(key, shape.attention_head_dim, false);
}

void add_linears(TensorList& list, const std::string& prefix,
                 std::initializer_list<const char*> names, std::int64_t hidden) {
  for (const char* name : names) {
    list.linear({prefix + name, hidden, hidden});
  }
}

void add_feed_forward(TensorList& list, const std::string& prefix, std::int64_t hidden) {
  list.linear({prefix + ".net.0.proj", 4 * hidden, hidden});
  list.linear({prefix + ".net.2", hidden, 4 * hidden, kResidualFactor});
}

void add_dual(TensorList& list, const std::string& prefix, const FluxShape& shape) {
  const std::int64_t hidden = shape.hidden();
  list.linear({prefix + "norm1.linear", 6 * hidden, hidden});
  list.linear({prefix + "norm1_context.linear", 6 * hidden, hidden});
  const std::string attn = prefix + "attn.";
  add_head_norms(list, attn + "norm_q", attn + "norm_k", shape);
  add_linears(list, attn, {"to_q", "to_k", "to_v"}, hidden);
  list.linear({attn + "to_out.0", hidden, hidden, kResidualFactor});
  add_head_norms(list, attn + "norm_added_q", attn + "norm_added_k", shape);
  add_linears(list, attn, {"add_q_proj", "add_k_proj", "add_v_proj"}, hidden);
  list.linear({attn + "to_add_out", hidden, hidden, kResidualFactor});
  add_feed_forward(list, prefix + "ff", hidden);
  add_feed_forward(list, prefix + "ff_context", hidden);
}

void add_single(TensorList& list, const std::string& prefix, const FluxShape& shape) {
  const std::int64_t hidden = shape.hidden();
  list.linear({prefix + "norm.linear", 3 * hidden, hidden});
  list.linear({prefix + "proj_mlp", 4 * hidden, hidden});
  list.linear({prefix + "proj_out", hidden, 5 * hidden, kResidualFactor});
  const std::string attn = prefix + "attn.";
  add_head_norms(list, attn + "norm_q", attn + "norm_k", shape);
  add_linears(list, attn, {"to_q", "to_k", "to_v"}, hidden);
}

}  // namespace

std::span<const FluxPreset> flux_presets() {
  return kPresets;
}

Result<FluxShape> flux_depth(const FluxShape& preset, std::int64_t blocks) {
  if (blocks < 2) {
    return refuse(codes::kInvalidValue,
                  fmt::format("{} blocks were asked for, and each of two kinds needs one", blocks),
                  "--blocks", "ask for at least 2");
  }
  FluxShape shape = preset;
  shape.num_layers = std::max<std::int64_t>(1, blocks / 3);
  shape.num_single_layers = blocks - shape.num_layers;
  return shape;
}

nlohmann::json flux_config_json(const FluxShape& shape) {
  return {{"_class_name", "FluxTransformer2DModel"},
          {"_diffusers_version", kDiffusersVersion},
          {"attention_head_dim", shape.attention_head_dim},
          {"axes_dims_rope", shape.axes_dims_rope},
          {"guidance_embeds", true},
          {"in_channels", shape.in_channels},
          {"joint_attention_dim", shape.joint_attention_dim},
          {"num_attention_heads", shape.num_attention_heads},
          {"num_layers", shape.num_layers},
          {"num_single_layers", shape.num_single_layers},
          {"out_channels", nullptr},
          {"patch_size", 1},
          {"pooled_projection_dim", shape.pooled_projection_dim}};
}

std::vector<SeededTensor> flux_tensors(const FluxShape& shape) {
  const std::int64_t hidden = shape.hidden();
  TensorList list;
  add_embedder(list, "timestep_embedder", kTimeChannels, hidden);
  add_embedder(list, "guidance_embedder", kTimeChannels, hidden);
  add_embedder(list, "text_embedder", shape.pooled_projection_dim, hidden);
  list.linear({"context_embedder", hidden, shape.joint_attention_dim});
  list.linear({"x_embedder", hidden, shape.in_channels});
  for (std::int64_t block = 0; block < shape.num_layers; ++block) {
    add_dual(list, fmt::format("transformer_blocks.{}.", block), shape);
  }
  for (std::int64_t block = 0; block < shape.num_single_layers; ++block) {
    add_single(list, fmt::format("single_transformer_blocks.{}.", block), shape);
  }
  list.linear({"norm_out.linear", 2 * hidden, hidden});
  list.linear({"proj_out", shape.in_channels, hidden});
  return list.take();
}

}  // namespace dlo::host_weights
