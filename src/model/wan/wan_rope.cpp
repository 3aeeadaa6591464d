#include "model/wan/wan_rope.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/complex.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>

#include "model/torch_views.h"

namespace dlo::model {

namespace {

constexpr double kTheta = 10000.0;

// Angles [positions, channels / 2] of one axis in fp64.
at::Tensor axis_angles(std::int64_t positions, std::int64_t channels) {
  const auto options = at::TensorOptions().dtype(at::kDouble);
  const at::Tensor exponent = at::arange(0, channels, 2, options) / static_cast<double>(channels);
  return at::outer(at::arange(positions, options), at::pow(kTheta, exponent).reciprocal());
}

}  // namespace

RopeTables make_wan_rope(const WanConfig& config, const PatchGrid& grid) {
  const std::int64_t side_channels = 2 * (config.attention_head_dim / 6);
  const std::int64_t frame_channels = config.attention_head_dim - 2 * side_channels;
  const auto [frames, height, width] = grid;
  const auto spread = [&](const at::Tensor& angles, at::IntArrayRef shape) {
    return angles.view(shape).expand({frames, height, width, angles.size(1)});
  };
  const at::Tensor angles =
      at::cat({spread(axis_angles(frames, frame_channels), {frames, 1, 1, -1}),
               spread(axis_angles(height, side_channels), {1, height, 1, -1}),
               spread(axis_angles(width, side_channels), {1, 1, width, -1})},
              -1)
          .reshape({frames * height * width, 1, -1});
  const at::Tensor cos = angles.cos().to(at::kFloat);
  const at::Tensor sin = angles.sin().to(at::kFloat);
  return RopeTables{cos, sin, at::complex(cos, sin)};
}

const RopeTables& WanRopeCache::tables(const WanConfig& config, const PatchGrid& grid) {
  auto found = tables_.find(grid);
  if (found == tables_.end()) {
    const RopeTables host = make_wan_rope(config, grid);
    // The driver has read pageable memory when the copy returns, so `host` may go then.
    const auto moved = [device = torch_device(device_)](const at::Tensor& table) {
      return table.to(device, table.scalar_type(), /*non_blocking=*/true);
    };
    found =
        tables_.emplace(grid, RopeTables{moved(host.cos), moved(host.sin), moved(host.turn)}).first;
  }
  return found->second;
}

}  // namespace dlo::model
