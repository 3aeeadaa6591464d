#include "model/wan/wan_rope.h"

#include <ATen/ops/cat.h>

#include "model/rotary.h"

namespace dlo::model {

RopeTables make_wan_rope(const WanConfig& config, const PatchGrid& grid) {
  const std::int64_t side_channels = 2 * (config.attention_head_dim / 6);
  const std::int64_t frame_channels = config.attention_head_dim - 2 * side_channels;
  const auto [frames, height, width] = grid;
  const auto spread = [&](const at::Tensor& angles, at::IntArrayRef shape) {
    return angles.view(shape).expand({frames, height, width, angles.size(1)});
  };
  return rope_of(at::cat({spread(axis_angles(frames, frame_channels), {frames, 1, 1, -1}),
                          spread(axis_angles(height, side_channels), {1, height, 1, -1}),
                          spread(axis_angles(width, side_channels), {1, 1, width, -1})},
                         -1)
                     .reshape({frames * height * width, 1, -1}));
}

const RopeTables& WanRopeCache::tables(const WanConfig& config, const PatchGrid& grid) {
  auto found = tables_.find(grid);
  if (found == tables_.end()) {
    found = tables_.emplace(grid, move_rope(make_wan_rope(config, grid), device_)).first;
  }
  return found->second;
}

}  // namespace dlo::model
