// Goal: conversions give the bits that IEEE round-to-nearest-even demands. Method: all 65536 halves
// and bfloat16 values exhaustively, roundings at ties against hand-written bits.
#include "host_weights/dtype_conversion.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/error.h"

namespace dlo::host_weights {
namespace {

TEST(Half, EveryValue_SurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = half_to_float(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(half_to_float(float_to_half(value)))) << bits;
    } else {
      ASSERT_EQ(float_to_half(value), half) << bits;
    }
  }
}

TEST(Half, EveryFiniteValue_IsItsFormula) {
  for (std::uint32_t bits = 0; bits < 0x7C00U; ++bits) {
    const int exponent = static_cast<int>(bits >> 10U);
    const auto mantissa = static_cast<float>(bits & 0x3FFU);
    const float expected =
        exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024.0F + mantissa, exponent - 25);
    ASSERT_EQ(half_to_float(static_cast<std::uint16_t>(bits)), expected) << bits;
    ASSERT_EQ(half_to_float(static_cast<std::uint16_t>(bits | 0x8000U)), -expected) << bits;
  }
}

// Between neighbours a and b the middle goes to the even one, anything else to the nearer one.
TEST(Half, BetweenNeighbours_RoundsToNearestEven) {
  for (std::uint32_t bits = 0; bits + 1 < 0x7C00U; ++bits) {
    const float low = half_to_float(static_cast<std::uint16_t>(bits));
    const float high = half_to_float(static_cast<std::uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;
    const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(float_to_half(middle), even) << bits;
    ASSERT_EQ(float_to_half(std::nextafter(middle, low)), bits) << bits;
    ASSERT_EQ(float_to_half(std::nextafter(middle, high)), bits + 1) << bits;
  }
}

TEST(Half, BeyondTheLargest_IsInfinite) {
  EXPECT_EQ(float_to_half(65519.996F), 0x7BFFU);
  EXPECT_EQ(float_to_half(65520.0F), 0x7C00U);
  EXPECT_EQ(float_to_half(-1e30F), 0xFC00U);
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::infinity()), 0x7C00U);
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::denorm_min()), 0U);
}

std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST(ConvertElements, FloatToBf16_RoundsToNearestEven) {
  const std::vector<float> values = {1.0F, std::bit_cast<float>(0x3F808000U),
                                     std::bit_cast<float>(0x3F818000U),
                                     std::bit_cast<float>(0x3F808001U), -0.0F};
  std::vector<std::uint16_t> out(values.size());
  convert_elements(bytes_of(values), DType::kF32, std::as_writable_bytes(std::span(out)),
                   DType::kBF16, values.size());
  EXPECT_EQ(out, (std::vector<std::uint16_t>{0x3F80, 0x3F80, 0x3F82, 0x3F81, 0x8000}));
}

TEST(ConvertElements, EveryBf16_SurvivesTheWayThroughFloat) {
  std::vector<std::uint16_t> values;
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    if (!std::isnan(std::bit_cast<float>(bits << 16U))) {
      values.push_back(static_cast<std::uint16_t>(bits));
    }
  }
  std::vector<float> wide(values.size());
  std::vector<std::uint16_t> back(values.size());
  convert_elements(std::as_bytes(std::span(values)), DType::kBF16,
                   std::as_writable_bytes(std::span(wide)), DType::kF32, values.size());
  convert_elements(std::as_bytes(std::span(wide)), DType::kF32,
                   std::as_writable_bytes(std::span(back)), DType::kBF16, values.size());
  EXPECT_EQ(back, values);
}

TEST(ConvertElements, UnalignedSpans_AreRead) {
  const std::vector<float> values = {1.5F, -2.25F};
  std::vector<std::byte> shifted(1 + values.size() * sizeof(float));
  std::memcpy(shifted.data() + 1, values.data(), values.size() * sizeof(float));
  std::vector<std::byte> out(1 + values.size() * sizeof(std::uint16_t));
  convert_elements(ConstByteSpan(shifted).subspan(1), DType::kF32, ByteSpan(out).subspan(1),
                   DType::kF16, values.size());
  std::uint16_t second = 0;
  std::memcpy(&second, out.data() + 3, sizeof(second));
  EXPECT_EQ(half_to_float(second), -2.25F);
}

TEST(CanConvert, FloatingTypesOnly_AreTurnedIntoEachOther) {
  EXPECT_TRUE(can_convert(DType::kF32, DType::kBF16));
  EXPECT_TRUE(can_convert(DType::kF16, DType::kBF16));
  EXPECT_TRUE(can_convert(DType::kI64, DType::kI64));
  EXPECT_FALSE(can_convert(DType::kI32, DType::kF32));
  EXPECT_FALSE(can_convert(DType::kF8E4M3, DType::kBF16));
}

TEST(ConvertElements, TypesWithoutConversion_AreAProgrammerError) {
  std::vector<std::byte> bytes(4);
  EXPECT_THROW(convert_elements(bytes, DType::kI32, bytes, DType::kF32, 1), LogicError);
}

}  // namespace
}  // namespace dlo::host_weights
