#include "model/wan/wan_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// Appends tensors under one prefix, with the dtype that the options give each name.
class SpecWriter {
 public:
  SpecWriter(const ModelOptions& options, std::string prefix,
             std::vector<contracts::TensorSpec>& out)
      : options_(options), prefix_(std::move(prefix)), out_(out) {}

  void tensor(const std::string& name, Shape shape) {
    contracts::TensorSpec spec;
    spec.name = prefix_ + name;
    spec.shape = std::move(shape);
    const bool keep_fp32 = options_.keep_fp32_modules && is_fp32_module(name);
    spec.dtype = keep_fp32 ? DType::kF32 : options_.runtime_dtype;
    out_.push_back(std::move(spec));
  }

  void linear(const std::string& name, std::int64_t out_features, std::int64_t in_features) {
    tensor(name + ".weight", {out_features, in_features});
    tensor(name + ".bias", {out_features});
  }

 private:
  const ModelOptions& options_;
  std::string prefix_;
  std::vector<contracts::TensorSpec>& out_;
};

void describe_attention(SpecWriter& writer, const std::string& name, std::int64_t hidden) {
  for (const char* part : {".to_q", ".to_k", ".to_v", ".to_out.0"}) {
    writer.linear(name + part, hidden, hidden);
  }
  writer.tensor(name + ".norm_q.weight", {hidden});
  writer.tensor(name + ".norm_k.weight", {hidden});
}

contracts::BlockSpec describe_block(const WanConfig& config, const ModelOptions& options,
                                    std::int64_t index) {
  const std::int64_t hidden = config.hidden();
  contracts::BlockSpec block;
  block.name = fmt::format("{}.blocks.{}", options.component, index);
  SpecWriter writer(options, block.name + ".", block.tensors);
  writer.tensor("scale_shift_table", {1, 6, hidden});
  describe_attention(writer, "attn1", hidden);
  describe_attention(writer, "attn2", hidden);
  if (config.cross_attn_norm) {
    writer.tensor("norm2.weight", {hidden});
    writer.tensor("norm2.bias", {hidden});
  }
  writer.linear("ffn.net.0.proj", config.ffn_dim, hidden);
  writer.linear("ffn.net.2", hidden, config.ffn_dim);
  return block;
}

contracts::BlockSpec describe_edges(const WanConfig& config, const ModelOptions& options) {
  const std::int64_t hidden = config.hidden();
  const auto& patch = config.patch_size;
  contracts::BlockSpec edges;
  edges.name = options.component + " (non-block)";
  SpecWriter writer(options, options.component + ".", edges.tensors);
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
  return edges;
}

}  // namespace

contracts::DitSpec describe_wan(const WanConfig& config, const ModelOptions& options) {
  contracts::DitSpec spec;
  spec.name = options.component;
  spec.blocks.reserve(static_cast<std::size_t>(config.num_layers));
  for (std::int64_t index = 0; index < config.num_layers; ++index) {
    spec.blocks.push_back(describe_block(config, options, index));
  }
  spec.non_block = describe_edges(config, options);
  return spec;
}

}  // namespace dlo::model
