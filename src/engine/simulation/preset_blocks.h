// Owns: the blocks of this product's presets as a prediction needs them: bytes of each block's
// layout in BF16 and the floating-point operations of its forward.
// Must not own: the tensor lists (host_weights), rates. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dlo::engine {

struct PresetBlock {
  std::uint64_t bytes = 0;
  // Two for each weight and row that meets it, and the attentions; modulations, which meet a row a
  // timestep, are left out. 0 without tokens.
  double flops = 0.0;
  bool of_refiner = false;  // of a child's ring, which meets the text alone
};

// What a forward of the preset's first transformer walks, in that order, the transformer's own ring
// cut to `blocks` if given: one chain of prefetches, the token refiner's blocks at its head. Over
// `tokens` of video or image; of MiniMax-H3 rows of the packed sequence; 512 rows of text beside
// them, in them and in the refiner. Codes: invalid_value with the nearest name.
[[nodiscard]] Result<std::vector<PresetBlock>> preset_blocks(std::string_view preset,
                                                             std::optional<std::int64_t> blocks,
                                                             std::uint64_t tokens);

}  // namespace dlo::engine
