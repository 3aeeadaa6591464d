#include "model/rotary.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/complex.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>

#include "model/torch_views.h"

namespace dlo::model {

namespace {

constexpr double kTheta = 10000.0;

}  // namespace

at::Tensor axis_angles(std::int64_t positions, std::int64_t channels) {
  const auto options = at::TensorOptions().dtype(at::kDouble);
  const at::Tensor exponent = at::arange(0, channels, 2, options) / static_cast<double>(channels);
  return at::outer(at::arange(positions, options), at::pow(kTheta, exponent).reciprocal());
}

RopeTables rope_of(const at::Tensor& angles) {
  const at::Tensor cos = angles.cos().to(at::kFloat);
  const at::Tensor sin = angles.sin().to(at::kFloat);
  return RopeTables{cos, sin, at::complex(cos, sin)};
}

RopeTables move_rope(const RopeTables& host, ComputeDevice device) {
  const auto moved = [to = torch_device(device)](const at::Tensor& table) {
    return table.to(to, table.scalar_type(), /*non_blocking=*/true);
  };
  return RopeTables{moved(host.cos), moved(host.sin), moved(host.turn)};
}

at::Tensor doubled(const at::Tensor& table) {
  return table.squeeze(1).repeat_interleave(2, /*dim=*/1);
}

}  // namespace dlo::model
