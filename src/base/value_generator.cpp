#include "base/value_generator.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.h"

namespace dlo {

namespace {

// SplitMix64's golden-gamma increment and finaliser constants.
constexpr std::uint64_t kGamma = 0x9E3779B97F4A7C15ULL;

constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

std::uint64_t key_of(std::string_view name, std::uint64_t seed) {
  std::uint64_t key = mix(seed + kGamma);
  for (const char c : name) {
    key = mix(key + kGamma + static_cast<unsigned char>(c));
  }
  return key;
}

template <typename Element, typename Convert>
void fill(ByteSpan out, std::uint64_t count, const Convert& convert) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const Element element = convert(i);
    std::memcpy(out.data() + i * sizeof(Element), &element, sizeof(Element));
  }
}

}  // namespace

ValueGenerator::ValueGenerator(std::string_view name, std::uint64_t seed)
    : key_(key_of(name, seed)) {}

std::uint64_t ValueGenerator::bits(std::uint64_t index) const {
  return mix(key_ + (index + 1) * kGamma);
}

float ValueGenerator::uniform(std::uint64_t index) const {
  const auto value = static_cast<std::int32_t>(bits(index) >> 40U);
  return static_cast<float>(value - (1 << 23)) / static_cast<float>(1 << 23);
}

float ValueGenerator::normal(std::uint64_t index) const {
  const std::uint64_t word = bits(index);
  const auto sum = static_cast<std::int32_t>((word & 0xFFFFU) + ((word >> 16U) & 0xFFFFU) +
                                             ((word >> 32U) & 0xFFFFU) + (word >> 48U)) -
                   2 * 65535;
  // Four uniforms of width 65536 have standard deviation 65536 / sqrt(3).
  constexpr float kScale = 1.7320508F / 65536.0F;
  return static_cast<float>(sum) * kScale;
}

void ValueGenerator::fill_normal(ByteSpan out, DType dtype, std::uint64_t first_index, float mean,
                                 float scale) const {
  const auto value = [&](std::uint64_t i) { return mean + scale * normal(first_index + i); };
  const std::uint64_t width = dtype_bits(dtype) / 8;
  require(width > 0 && out.size() % width == 0, "fill_normal: bytes are not whole elements");
  const std::uint64_t count = out.size() / width;
  switch (dtype) {
    case DType::kF32:
      fill<float>(out, count, value);
      return;
    case DType::kBF16:
      fill<std::uint16_t>(out, count, [&](std::uint64_t i) { return float_to_bf16(value(i)); });
      return;
    default:
      throw LogicError("fill_normal makes F32 and BF16 only");
  }
}

std::uint16_t float_to_bf16(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) {
    return static_cast<std::uint16_t>((word >> 16U) | 0x40U);
  }
  const std::uint32_t rounding = 0x7FFFU + ((word >> 16U) & 1U);
  return static_cast<std::uint16_t>((word + rounding) >> 16U);
}

}  // namespace dlo
