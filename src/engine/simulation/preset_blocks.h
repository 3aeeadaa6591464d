// Owns: the blocks of this product's Wan presets as a prediction needs them: bytes of their layout
// in BF16 and the floating-point operations of one forward.
// Must not own: the tensor list (host_weights), rates. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace dlo::engine {

struct PresetBlocks {
  std::uint32_t count = 0;        // of the preset
  std::uint64_t block_bytes = 0;  // all blocks are alike
};

// Codes: invalid_value with the nearest name.
[[nodiscard]] Result<PresetBlocks> preset_blocks(std::string_view preset);

// Operations of one block over `tokens` video tokens and 512 of text: two for each weight and token
// of its linear layers, and both attentions. Codes: invalid_value.
[[nodiscard]] Result<double> preset_block_flops(std::string_view preset, std::uint64_t tokens);

}  // namespace dlo::engine
