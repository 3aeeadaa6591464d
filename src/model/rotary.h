// Owns: the angles of rotary embeddings and their tables: fp64 angles of one axis, tables of
// cosines and sines, their move to the device. Must not own: which axes a family has, or the
// rotation itself (layers.h). Pure functions; callers cache what they make. Source: diffusers
// get_1d_rotary_pos_embed, models.md 4.1 and 4.2.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "model/compute_device.h"
#include "model/layers.h"

namespace dlo::model {

// Angles [positions, channels / 2] of the positions 0, 1, ... in fp64, theta 10000.
[[nodiscard]] at::Tensor axis_angles(std::int64_t positions, std::int64_t channels);

// The tables of `angles` [tokens, 1, head_dim / 2] on the CPU, fp32.
[[nodiscard]] RopeTables rope_of(const at::Tensor& angles);

// A copy on `device`. The driver has read pageable memory when this returns, so `host` may go then.
[[nodiscard]] RopeTables move_rope(const RopeTables& host, ComputeDevice device);

// [tokens, head_dim]: each value twice, as diffusers keeps them.
[[nodiscard]] at::Tensor doubled(const at::Tensor& table);

}  // namespace dlo::model
