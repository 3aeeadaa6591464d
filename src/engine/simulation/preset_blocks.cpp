#include "engine/simulation/preset_blocks.h"

#include <string>

#include "base/bytes.h"
#include "host_weights/seeded_checkpoint/wan_tensors.h"

namespace dlo::engine {

namespace {

constexpr std::string_view kFirstBlock = "blocks.0.";
constexpr double kTextTokens = 512.0;

}  // namespace

Result<PresetBlocks> preset_blocks(std::string_view name) {
  const auto preset = host_weights::wan_preset(name);
  if (!preset.ok()) {
    return preset.refusal();
  }
  PresetBlocks blocks;
  blocks.count = static_cast<std::uint32_t>(preset->shape.num_layers);
  for (const auto& tensor : host_weights::wan_tensors(preset->shape)) {
    if (tensor.name.starts_with(kFirstBlock)) {
      const auto bytes = tensor_bytes(tensor.shape, DType::kBF16);
      require(bytes.has_value(), "a preset exceeds 64-bit sizes");
      blocks.block_bytes += round_up(*bytes, kTensorAlignmentBytes);
    }
  }
  return blocks;
}

Result<double> preset_block_flops(std::string_view name, std::uint64_t tokens) {
  const auto preset = host_weights::wan_preset(name);
  if (!preset.ok()) {
    return preset.refusal();
  }
  const auto hidden = static_cast<double>(preset->shape.hidden());
  const auto ffn = static_cast<double>(preset->shape.ffn_dim);
  const auto video = static_cast<double>(tokens);
  // Self-attention has four square layers; cross-attention two over video and two over text.
  const double linear = 2.0 * video * (6.0 * hidden * hidden + 2.0 * hidden * ffn) +
                        2.0 * kTextTokens * 2.0 * hidden * hidden;
  const double attention = 4.0 * video * (video + kTextTokens) * hidden;
  return linear + attention;
}

}  // namespace dlo::engine
