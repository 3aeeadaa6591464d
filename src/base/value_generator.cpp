#include "base/value_generator.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

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

// Four uniforms of width 65536 have standard deviation 65536 / sqrt(3).
constexpr float kNormalScale = 1.7320508F / 65536.0F;

// Sum of the four 16-bit parts of `word`, centred.
constexpr std::int32_t centred_sum(std::uint64_t word) {
  constexpr std::uint64_t kEven = 0x0000FFFF0000FFFFULL;
  const std::uint64_t pairs = (word & kEven) + ((word >> 16U) & kEven);
  return static_cast<std::int32_t>((pairs & 0xFFFFFFFFULL) + (pairs >> 32U)) - 2 * 65535;
}

constexpr std::uint16_t round_to_bf16(float finite) {
  const auto word = std::bit_cast<std::uint32_t>(finite);
  return static_cast<std::uint16_t>((word + 0x7FFFU + ((word >> 16U) & 1U)) >> 16U);
}

struct Fill {
  std::uint64_t key;
  std::uint64_t first_index;
  float mean;
  float scale;
};

// Bytes must not depend on the instruction set: this file is compiled without contraction to
// fused multiply-add (CMakeLists.txt).
template <typename Element>
[[gnu::always_inline]] inline void fill_loop(std::byte* out, std::uint64_t count,
                                             const Fill& fill) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t word = mix(fill.key + (fill.first_index + i + 1) * kGamma);
    const float normal = static_cast<float>(centred_sum(word)) * kNormalScale;
    const float value = fill.mean + fill.scale * normal;
    Element element{};
    if constexpr (std::is_same_v<Element, float>) {
      element = value;
    } else {
      element = round_to_bf16(value);
    }
    std::memcpy(out + i * sizeof(Element), &element, sizeof(Element));
  }
}

template <typename Element>
void fill_portable(std::byte* out, std::uint64_t count, const Fill& fill) {
  fill_loop<Element>(out, count, fill);
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
// The same loop for wider registers: 64-bit products and 512 bits make it four times as fast.
template <typename Element>
[[gnu::target("avx2")]] void fill_avx2(std::byte* out, std::uint64_t count, const Fill& fill) {
  fill_loop<Element>(out, count, fill);
}

template <typename Element>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")]] void fill_avx512(
    std::byte* out, std::uint64_t count, const Fill& fill) {
  fill_loop<Element>(out, count, fill);
}

template <typename Element>
void fill_elements(std::byte* out, std::uint64_t count, const Fill& fill) {
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    fill_avx512<Element>(out, count, fill);
  } else if (__builtin_cpu_supports("avx2")) {
    fill_avx2<Element>(out, count, fill);
  } else {
    fill_portable<Element>(out, count, fill);
  }
}
#else
template <typename Element>
void fill_elements(std::byte* out, std::uint64_t count, const Fill& fill) {
  fill_portable<Element>(out, count, fill);
}
#endif

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
  return static_cast<float>(centred_sum(bits(index))) * kNormalScale;
}

void ValueGenerator::fill_normal(ByteSpan out, DType dtype, std::uint64_t first_index, float mean,
                                 float scale) const {
  const Fill fill{key_, first_index, mean, scale};
  const std::uint64_t width = dtype_bits(dtype) / 8;
  require(width > 0 && out.size() % width == 0, "fill_normal: bytes are not whole elements");
  const std::uint64_t count = out.size() / width;
  switch (dtype) {
    case DType::kF32:
      fill_elements<float>(out.data(), count, fill);
      return;
    case DType::kBF16:
      fill_elements<std::uint16_t>(out.data(), count, fill);
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
  return round_to_bf16(value);
}

}  // namespace dlo
