// Owns: the rotary tables of a Wan transformer, one per latent grid, computed once in fp64, kept as
// fp32 on the device. Computed buffers: not part of a streamed block.
// Must not own: their application (layers.h). Threading: the compute stream's thread only.
// Source: diffusers WanRotaryPosEmbed, models.md 4.1.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "model/compute_device.h"
#include "model/layers.h"
#include "model/wan/wan_config.h"

namespace dlo::model {

// Patches along frames, height and width.
using PatchGrid = std::array<std::int64_t, 3>;

// Tables on the CPU for the tokens of `grid`, frames outermost. Of a head's channels,
// 2 * (head_dim / 6) each rotate by height and by width, the rest by frame.
[[nodiscard]] RopeTables make_wan_rope(const WanConfig& config, const PatchGrid& grid);

class WanRopeCache {
 public:
  explicit WanRopeCache(ComputeDevice device) : device_(device) {}

  // The tables of `grid` on the device, made at its first use: that call may wait for the device,
  // no later one does.
  [[nodiscard]] const RopeTables& tables(const WanConfig& config, const PatchGrid& grid);

 private:
  ComputeDevice device_;
  std::map<PatchGrid, RopeTables> tables_;
};

}  // namespace dlo::model
