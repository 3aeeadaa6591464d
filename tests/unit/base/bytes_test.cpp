// Goal: sizes are rounded, added and multiplied without silent wrap-around.
// Method: boundary values against results worked out by hand.
#include "base/bytes.h"

#include <gtest/gtest.h>

#include <limits>

namespace dlo {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

TEST(RoundUp, Boundaries_GiveNextMultiple) {
  EXPECT_EQ(round_up(0, 256), 0U);
  EXPECT_EQ(round_up(1, 256), 256U);
  EXPECT_EQ(round_up(256, 256), 256U);
  EXPECT_EQ(round_up(257, 256), 512U);
  EXPECT_EQ(round_up(19, 8), 24U);
}

TEST(CeilDivide, Boundaries_CountStartedSteps) {
  EXPECT_EQ(ceil_divide(0, 8), 0U);
  EXPECT_EQ(ceil_divide(8, 8), 1U);
  EXPECT_EQ(ceil_divide(9, 8), 2U);
}

TEST(CheckedArithmetic, Overflow_IsEmpty) {
  EXPECT_EQ(checked_add(kMax, 1), std::nullopt);
  EXPECT_EQ(checked_add(kMax, 0), kMax);
  EXPECT_EQ(checked_multiply(kMax, 2), std::nullopt);
  EXPECT_EQ(checked_multiply(1ULL << 32U, 1ULL << 32U), std::nullopt);
  EXPECT_EQ(checked_multiply(kMax, 1), kMax);
  EXPECT_EQ(checked_multiply(kMax, 0), 0U);
}

TEST(FormatBytes, EachUnit_IsNamed) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(kKiB), "1.00 KiB");
  EXPECT_EQ(format_bytes(3 * kMiB / 2), "1.50 MiB");
  EXPECT_EQ(format_bytes(kGiB + kGiB / 4), "1.25 GiB");
}

}  // namespace
}  // namespace dlo
