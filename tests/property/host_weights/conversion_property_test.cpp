// Goal: conversion to a narrower type gives the nearest value, ties to even, for any float.
// Method: drawn bit patterns; the answer is checked by distance in double precision against both
// neighbours, without knowing how the conversion works.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "host_weights/dtype_conversion.h"

namespace dlo::host_weights {
namespace {

// The value of a finite bf16 or half as a double.
double value_of(std::uint16_t bits, DType dtype) {
  return dtype == DType::kF16
             ? static_cast<double>(half_to_float(bits))
             : static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U));
}

void check_nearest(DType dtype, std::uint16_t largest) {
  const float value = std::bit_cast<float>(*rc::gen::arbitrary<std::uint32_t>());
  RC_PRE(std::isfinite(value) && std::abs(static_cast<double>(value)) <= value_of(largest, dtype));
  std::uint16_t bits = 0;
  convert_elements(std::as_bytes(std::span(&value, 1)), DType::kF32,
                   std::as_writable_bytes(std::span(&bits, 1)), dtype, 1);
  RC_ASSERT(std::signbit(value) == ((bits & 0x8000U) != 0));
  const std::uint16_t magnitude = bits & 0x7FFFU;
  const double exact = std::abs(static_cast<double>(value));
  const double error = std::abs(value_of(magnitude, dtype) - exact);
  for (const int step : {-1, 1}) {
    const int neighbour = magnitude + step;
    if (neighbour >= 0 && neighbour <= largest) {
      const double other = std::abs(value_of(static_cast<std::uint16_t>(neighbour), dtype) - exact);
      RC_ASSERT(error < other || (error <= other && magnitude % 2 == 0));
    }
  }
}

RC_GTEST_PROP(ConvertElements, FloatToBf16_IsNearestEven, ()) {
  check_nearest(DType::kBF16, 0x7F7F);
}

RC_GTEST_PROP(ConvertElements, FloatToHalf_IsNearestEven, ()) {
  check_nearest(DType::kF16, 0x7BFF);
}

}  // namespace
}  // namespace dlo::host_weights
