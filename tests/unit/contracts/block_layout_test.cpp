// Goal: every tensor of a block starts on 256 bytes and keeps its physical span.
// Method: blocks with awkward sizes, offsets worked out by hand.
#include "contracts/block_layout.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace dlo::contracts {
namespace {

TensorSpec bytes_tensor(std::string name, std::int64_t count) {
  return TensorSpec{std::move(name), TensorKind::kParameter, DType::kU8, {count}, {}};
}

TEST(BlockLayout, Tensors_StartAlignedInOrder) {
  const BlockLayout layout(
      BlockSpec{"b", {bytes_tensor("a", 1), bytes_tensor("b", 256), bytes_tensor("c", 257)}, {}});
  ASSERT_EQ(layout.entries().size(), 3U);
  EXPECT_EQ(layout.entries()[0].offset_bytes, 0U);
  EXPECT_EQ(layout.entries()[1].offset_bytes, 256U);
  EXPECT_EQ(layout.entries()[2].offset_bytes, 512U);
  EXPECT_EQ(layout.entries()[2].tensor_index, 2U);
  EXPECT_EQ(layout.bytes(), 1024U);
  EXPECT_EQ(layout.tensor_bytes(), 514U);
}

TEST(BlockLayout, EmptyTensor_TakesNoBytes) {
  const BlockLayout layout(
      BlockSpec{"b", {bytes_tensor("a", 0), bytes_tensor("b", 5), bytes_tensor("c", 0)}, {}});
  EXPECT_EQ(layout.entries()[1].offset_bytes, 0U);
  EXPECT_EQ(layout.entries()[2].offset_bytes, 256U);
  EXPECT_EQ(layout.entries()[2].span_bytes, 0U);
  EXPECT_EQ(layout.bytes(), 256U);
}

TEST(BlockLayout, NoTensors_HasNoBytes) {
  const BlockLayout layout(BlockSpec{"b", {}, nullptr});
  EXPECT_TRUE(layout.entries().empty());
  EXPECT_EQ(layout.bytes(), 0U);
}

TEST(BlockLayout, StridedTensor_KeepsItsPhysicalSpan) {
  const TensorSpec strided{"t", TensorKind::kParameter, DType::kF32, {64, 3}, {5, 1}};
  const BlockLayout layout(BlockSpec{"b", {strided, bytes_tensor("after", 1)}, nullptr});
  EXPECT_EQ(layout.entries()[0].span_bytes, (63U * 5U + 2U + 1U) * 4U);
  EXPECT_EQ(layout.entries()[1].offset_bytes, 1280U);
}

TEST(BlockLayout, MixedDtypes_ShareOneByteBuffer) {
  const TensorSpec half{"h", TensorKind::kParameter, DType::kBF16, {100}, {}};
  const TensorSpec wide{"w", TensorKind::kPersistentBuffer, DType::kF64, {1}, {}};
  const BlockLayout layout(BlockSpec{"b", {half, wide}, nullptr});
  EXPECT_EQ(layout.entries()[1].offset_bytes, 256U);
  EXPECT_EQ(layout.entries()[1].span_bytes, 8U);
  EXPECT_EQ(layout.bytes(), 512U);
}

TEST(BlockLayout, SizesPast64Bits_Throw) {
  const auto half = bytes_tensor("h", std::int64_t{1} << 62);
  EXPECT_THROW(BlockLayout(BlockSpec{"b", {half, half, half, half}, nullptr}), LogicError);
}

}  // namespace
}  // namespace dlo::contracts
