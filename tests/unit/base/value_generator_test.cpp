// Goal: value i of a stream depends on (name, seed, i) alone, and bf16 rounds to nearest even.
// Method: slices against one whole fill, fixed bits so that a change of the stream is seen, and
// hand-made ties.
#include "base/value_generator.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/sha256.h"

namespace dlo {
namespace {

std::vector<std::byte> filled(const ValueGenerator& generator, DType dtype, std::size_t first,
                              std::size_t count, std::size_t width) {
  std::vector<std::byte> bytes(count * width);
  generator.fill_normal(bytes, dtype, first, 0.5F, 0.25F);
  return bytes;
}

TEST(ValueGenerator, Slices_EqualTheWhole) {
  const ValueGenerator generator("transformer.blocks.0.weight", 7);
  for (const auto& [dtype, width] :
       {std::pair(DType::kF32, std::size_t{4}), std::pair(DType::kBF16, std::size_t{2})}) {
    const auto whole = filled(generator, dtype, 0, 100, width);
    for (const std::size_t first : {0U, 1U, 37U, 99U}) {
      const auto slice = filled(generator, dtype, first, 100 - first, width);
      EXPECT_EQ(std::memcmp(slice.data(), whole.data() + first * width, slice.size()), 0) << first;
    }
  }
}

TEST(ValueGenerator, NameOrSeed_ChangesTheStream) {
  const ValueGenerator generator("a", 1);
  EXPECT_EQ(generator.bits(3), ValueGenerator("a", 1).bits(3));
  EXPECT_NE(generator.bits(3), ValueGenerator("b", 1).bits(3));
  EXPECT_NE(generator.bits(3), ValueGenerator("a", 2).bits(3));
  EXPECT_NE(generator.bits(3), generator.bits(4));
}

TEST(ValueGenerator, Normal_HasMeanZeroVarianceOneAndBounds) {
  const ValueGenerator generator("n", 3);
  constexpr int kCount = 100'000;
  double sum = 0;
  double squares = 0;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const double value = generator.normal(i);
    ASSERT_LT(std::fabs(value), 3.5);
    sum += value;
    squares += value * value;
  }
  // Five standard errors: 1/sqrt(n) of the mean; the variance's is smaller than sqrt(2/n).
  EXPECT_NEAR(sum / kCount, 0.0, 5.0 / std::sqrt(kCount));
  EXPECT_NEAR(squares / kCount, 1.0, 5.0 * std::sqrt(2.0 / kCount));
}

TEST(ValueGenerator, Uniform_StaysInItsHalfOpenRange) {
  const ValueGenerator generator("u", 3);
  float least = 1;
  float most = -1;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const float value = generator.uniform(i);
    ASSERT_GE(value, -1.0F);
    ASSERT_LT(value, 1.0F);
    least = std::min(least, value);
    most = std::max(most, value);
  }
  EXPECT_LT(least, -0.99F);
  EXPECT_GT(most, 0.99F);
}

TEST(ValueGenerator, F32Fill_IsMeanPlusScaledNormalOfEachIndex) {
  const ValueGenerator generator("w", 11);
  const auto bytes = filled(generator, DType::kF32, 3, 77, 4);
  for (std::size_t i = 0; i < 77; ++i) {
    float value = 0;
    std::memcpy(&value, bytes.data() + 4 * i, 4);
    const float scaled = 0.25F * generator.normal(3 + i);
    EXPECT_EQ(value, 0.5F + scaled) << i;
  }
}

TEST(ValueGenerator, FilledBytes_NeverChange) {
  // Checkpoints made from a seed are compared across machines and versions by these bytes.
  const ValueGenerator generator("transformer.blocks.0.weight", 7);
  EXPECT_EQ(sha256_hex(filled(generator, DType::kF32, 0, 1000, 4)),
            "d30efed76042a43db24ee0942491895c4a742f89dda9aff789c5ad07c157b71b");
  EXPECT_EQ(sha256_hex(filled(generator, DType::kBF16, 0, 1000, 2)),
            "e08bdebcecba3fe9abb401d54169b43ef7770b48a3f900bceaa4391a99a54b9e");
}

TEST(ValueGenerator, Bf16Fill_IsTheRoundedF32Fill) {
  const ValueGenerator generator("w", 11);
  const auto wide = filled(generator, DType::kF32, 5, 64, 4);
  const auto narrow = filled(generator, DType::kBF16, 5, 64, 2);
  for (std::size_t i = 0; i < 64; ++i) {
    float value = 0;
    std::uint16_t rounded = 0;
    std::memcpy(&value, wide.data() + 4 * i, 4);
    std::memcpy(&rounded, narrow.data() + 2 * i, 2);
    EXPECT_EQ(rounded, float_to_bf16(value)) << i;
  }
}

TEST(ValueGenerator, OtherDtypeOrPartialElement_Throws) {
  const ValueGenerator generator("w", 11);
  std::vector<std::byte> bytes(6);
  EXPECT_THROW(generator.fill_normal(bytes, DType::kF16, 0, 0, 1), LogicError);
  EXPECT_THROW(generator.fill_normal(bytes, DType::kF32, 0, 0, 1), LogicError);
  EXPECT_THROW(generator.fill_normal(bytes, DType::kF4, 0, 0, 1), LogicError);
}

TEST(FloatToBf16, Ties_GoToEven) {
  const auto rounded = [](std::uint32_t word) { return float_to_bf16(std::bit_cast<float>(word)); };
  EXPECT_EQ(rounded(0x3F800000U), 0x3F80U);
  EXPECT_EQ(rounded(0x3F808000U), 0x3F80U);  // tie, even below
  EXPECT_EQ(rounded(0x3F818000U), 0x3F82U);  // tie, even above
  EXPECT_EQ(rounded(0x3F808001U), 0x3F81U);
  EXPECT_EQ(rounded(0x3F817FFFU), 0x3F81U);
  EXPECT_EQ(rounded(0xBF818000U), 0xBF82U);
}

TEST(FloatToBf16, Extremes_StayInTheirClass) {
  EXPECT_EQ(float_to_bf16(std::numeric_limits<float>::infinity()), 0x7F80U);
  EXPECT_EQ(float_to_bf16(-std::numeric_limits<float>::infinity()), 0xFF80U);
  EXPECT_EQ(float_to_bf16(std::numeric_limits<float>::max()), 0x7F80U);
  EXPECT_EQ(float_to_bf16(-0.0F), 0x8000U);
  // A NaN whose payload lies in the cut half must not become an infinity.
  const auto nan = float_to_bf16(std::bit_cast<float>(0x7F800001U));
  EXPECT_EQ(nan & 0x7F80U, 0x7F80U);
  EXPECT_NE(nan & 0x007FU, 0U);
}

}  // namespace
}  // namespace dlo
