// Goal: sizes of shapes are exact, and impossible ones are seen instead of wrapped.
// Method: boundary shapes; subspans at and past the edges.
#include "base/tensor_view.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "base/error.h"

namespace dlo {
namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

TEST(ElementCount, ScalarEmptyAndBox_AreExact) {
  EXPECT_EQ(element_count({}), 1U);
  EXPECT_EQ(element_count({0}), 0U);
  EXPECT_EQ(element_count({2, 3, 4}), 24U);
}

TEST(ElementCount, NegativeOrOverflowing_IsEmpty) {
  EXPECT_EQ(element_count({-1}), std::nullopt);
  EXPECT_EQ(element_count({kHuge, 4}), std::nullopt);
}

TEST(TensorBytes, SubByteElements_RoundUpToWholeBytes) {
  EXPECT_EQ(tensor_bytes({3}, DType::kF4), 2U);
  EXPECT_EQ(tensor_bytes({4}, DType::kF6E2M3), 3U);
  EXPECT_EQ(tensor_bytes({}, DType::kF64), 8U);
  EXPECT_EQ(tensor_bytes({5, 0}, DType::kF32), 0U);
}

TEST(TensorBytes, BitsOverflow_IsEmpty) {
  EXPECT_EQ(tensor_bytes({kHuge}, DType::kF32), std::nullopt);
}

TEST(ShapeText, AnyRank_IsBracketed) {
  EXPECT_EQ(shape_text({}), "[]");
  EXPECT_EQ(shape_text({2, 3}), "[2, 3]");
}

TEST(DeviceSpan, SubspanInside_IsShifted) {
  std::array<std::byte, 16> memory{};
  const DeviceSpan span{memory.data(), memory.size()};
  EXPECT_EQ(span.subspan(4, 8), (DeviceSpan{memory.data() + 4, 8}));
  EXPECT_EQ(span.subspan(16, 0).bytes, 0U);
}

TEST(DeviceSpan, SubspanOutside_Throws) {
  std::array<std::byte, 16> memory{};
  const DeviceSpan span{memory.data(), memory.size()};
  EXPECT_THROW(static_cast<void>(span.subspan(0, 17)), LogicError);
  EXPECT_THROW(static_cast<void>(span.subspan(17, 0)), LogicError);
  EXPECT_THROW(static_cast<void>(span.subspan(8, UINT64_MAX)), LogicError);
}

}  // namespace
}  // namespace dlo
