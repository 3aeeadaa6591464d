// Owns: conversion of element types as torch's copy_ does it when a checkpoint is stored in another
// floating type than the model runs in: F32, BF16 and F16, rounded to nearest even.
// Must not own: boxes (contracts/copy_recipe.h), or the decision to convert: a mapped plan refuses
// such a checkpoint instead. Threading: pure functions.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/dtype.h"

namespace dlo::host_weights {

// True when convert_elements can turn `from` into `to`; equal types always can.
[[nodiscard]] bool can_convert(DType from, DType to);

// Converts `count` elements; neither side need be aligned. Sub-normal, infinite and NaN values stay
// what they are. Preconditions: can_convert(from, to); both spans hold `count` elements; no
// overlap.
void convert_elements(ConstByteSpan source, DType from, ByteSpan destination, DType to,
                      std::uint64_t count);

[[nodiscard]] float half_to_float(std::uint16_t half);
[[nodiscard]] std::uint16_t float_to_half(float value);

}  // namespace dlo::host_weights
