#include "host_weights/dtype_conversion.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/value_generator.h"

namespace dlo::host_weights {

namespace {

bool is_convertible_type(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBF16 || dtype == DType::kF16;
}

float bf16_to_float(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16U);
}

float identity(float value) {
  return value;
}

template <typename From, typename To, typename Widen, typename Narrow>
void convert_loop(const std::byte* source, std::byte* destination, std::uint64_t count,
                  const Widen& widen, const Narrow& narrow) {
  for (std::uint64_t i = 0; i < count; ++i) {
    From from{};
    std::memcpy(&from, source + i * sizeof(From), sizeof(From));
    const To to = narrow(widen(from));
    std::memcpy(destination + i * sizeof(To), &to, sizeof(To));
  }
}

template <typename From, typename Widen>
void convert_from(const std::byte* source, std::byte* destination, DType to, std::uint64_t count,
                  const Widen& widen) {
  switch (to) {
    case DType::kF32:
      convert_loop<From, float>(source, destination, count, widen, identity);
      return;
    case DType::kBF16:
      convert_loop<From, std::uint16_t>(source, destination, count, widen,
                                        [](float value) { return float_to_bf16(value); });
      return;
    default:
      convert_loop<From, std::uint16_t>(source, destination, count, widen,
                                        [](float value) { return float_to_half(value); });
  }
}

}  // namespace

bool can_convert(DType from, DType to) {
  return from == to || (is_convertible_type(from) && is_convertible_type(to));
}

void convert_elements(ConstByteSpan source, DType from, ByteSpan destination, DType to,
                      std::uint64_t count) {
  require(can_convert(from, to), "convert_elements: no conversion between these types");
  require(source.size() * 8 >= count * dtype_bits(from) &&
              destination.size() * 8 >= count * dtype_bits(to),
          "convert_elements: a span is shorter than its elements");
  if (count == 0) {
    return;
  }
  if (from == to) {
    std::memcpy(destination.data(), source.data(), (count * dtype_bits(from) + 7) / 8);
    return;
  }
  switch (from) {
    case DType::kF32:
      convert_from<float>(source.data(), destination.data(), to, count, identity);
      return;
    case DType::kBF16:
      convert_from<std::uint16_t>(source.data(), destination.data(), to, count,
                                  [](std::uint16_t value) { return bf16_to_float(value); });
      return;
    default:
      convert_from<std::uint16_t>(source.data(), destination.data(), to, count,
                                  [](std::uint16_t value) { return half_to_float(value); });
  }
}

float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16U;
  const std::uint32_t exponent = (half >> 10U) & 0x1FU;
  const std::uint32_t mantissa = half & 0x3FFU;
  if (exponent == 0x1FU) {
    return std::bit_cast<float>(sign | 0x7F800000U | (mantissa << 13U));
  }
  if (exponent == 0) {
    // Sub-normal: mantissa units of 2^-24, exact in a float.
    const float magnitude = static_cast<float>(mantissa) * 0x1.0p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 112U) << 23U) | (mantissa << 13U));
}

std::uint16_t float_to_half(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((word >> 16U) & 0x8000U);
  const std::uint32_t magnitude = word & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) {
    return static_cast<std::uint16_t>(sign | 0x7E00U | ((magnitude >> 13U) & 0x3FFU));
  }
  if (magnitude >= 0x477FF000U) {  // 65520: rounds to infinity
    return static_cast<std::uint16_t>(sign | 0x7C00U);
  }
  if (magnitude < 0x38800000U) {
    // Below 2^-14: adding 0.5 leaves the value in units of 2^-24 in the low bits, rounded to even.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U));
  }
  const std::uint32_t rounded = magnitude + 0xFFFU + ((magnitude >> 13U) & 1U);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000U) >> 13U));
}

}  // namespace dlo::host_weights
