#include "engine/simulation/preset_blocks.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/bytes.h"
#include "base/error.h"
#include "host_weights/model_index.h"
#include "host_weights/seeded_checkpoint/presets.h"

namespace dlo::engine {

namespace {

using host_weights::SeededTensor;

constexpr double kTextTokens = 512.0;

constexpr std::string_view kRefinerList = "token_refiner.blocks.";
// Block lists, by the first part of a name.
constexpr std::array<std::string_view, 4> kLists = {kRefinerList, "blocks.", "transformer_blocks.",
                                                    "single_transformer_blocks."};
// Layers that meet the rows of text, and layers that meet one row a timestep.
constexpr std::array<std::string_view, 6> kOfText = {"attn2.to_k", "attn2.to_v", ".add_",
                                                     "to_add_out", "ff_context", "norm_added"};
constexpr std::array<std::string_view, 4> kOfTime = {"norm1.linear", "norm1_context.linear",
                                                     "norm.linear", "adaln_proj"};

// "blocks.7." of "blocks.7.attn1.to_q.weight"; empty for a tensor outside the rings.
std::string_view block_of(std::string_view name) {
  for (const auto list : kLists) {
    if (name.starts_with(list)) {
      return name.substr(0, name.find('.', list.size()) + 1);
    }
  }
  return {};
}

template <typename Parts>
bool has_any(std::string_view name, const Parts& parts) {
  return std::any_of(parts.begin(), parts.end(), [name](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  });
}

// How a family's blocks meet their rows.
struct Rows {
  double own = 0.0;    // video or image, or the whole packed sequence
  double text = 0.0;   // beside them
  bool joint = false;  // one attention over both; else across from own to text

  [[nodiscard]] double attention(double width) const {
    const double queries = joint ? own + text : own;
    return 4.0 * queries * (own + text) * width;
  }
};

Rows rows_of(const std::string& class_name, std::uint64_t tokens) {
  Rows rows;
  rows.own = static_cast<double>(tokens);
  rows.joint = class_name != host_weights::kWanTransformerClass;
  rows.text = class_name == host_weights::kH3TransformerClass ? 0.0 : kTextTokens;
  return rows;
}

// Output rows of the layer that makes queries: the width of the block's attention.
double attention_width(const SeededTensor& tensor) {
  const std::string_view name = tensor.name;
  const auto out = static_cast<double>(tensor.shape.front());
  if (name.ends_with("attn.to_q.weight") || name.ends_with("attn1.to_q.weight")) {
    return out;
  }
  return name.ends_with("attn.qkv_proj.weight") ? out / 3.0 : 0.0;
}

double layer_flops(const SeededTensor& tensor, const Rows& rows) {
  const std::string_view name = tensor.name;
  if (tensor.shape.size() != 2 || has_any(name, kOfTime)) {
    return 0.0;
  }
  const auto weights = static_cast<double>(element_count(tensor.shape).value());
  const bool single = name.starts_with("single_transformer_blocks.");
  const double met = has_any(name, kOfText) ? rows.text : rows.own + (single ? rows.text : 0.0);
  return 2.0 * weights * met + rows.attention(attention_width(tensor));
}

}  // namespace

Result<std::vector<PresetBlock>> preset_blocks(std::string_view preset,
                                               std::optional<std::int64_t> blocks,
                                               std::uint64_t tokens) {
  const auto model = host_weights::seeded_model(preset, blocks);
  if (!model.ok()) {
    return model.refusal();
  }
  const auto& transformer = model->transformers.front();
  const Rows rows = rows_of(transformer.config.at("_class_name"), tokens);
  const Rows refined{.own = kTextTokens, .text = 0.0, .joint = true};
  std::vector<PresetBlock> ring;
  std::string_view current;
  for (const auto& tensor : transformer.tensors) {
    const auto block = block_of(tensor.name);
    if (block.empty()) {
      continue;
    }
    if (block != current) {
      current = block;
      ring.emplace_back().of_refiner = block.starts_with(kRefinerList);
    }
    const auto bytes = tensor_bytes(tensor.shape, DType::kBF16);
    require(bytes.has_value(), "a preset exceeds 64-bit sizes");
    ring.back().bytes += round_up(*bytes, kTensorAlignmentBytes);
    const auto& met = ring.back().of_refiner ? refined : rows;
    ring.back().flops += tokens == 0 ? 0.0 : layer_flops(tensor, met);
  }
  return ring;
}

}  // namespace dlo::engine
