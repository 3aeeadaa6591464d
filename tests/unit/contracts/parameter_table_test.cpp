// Goal: spans of strided tensors are exact and a malformed table is refused once, by name.
// Method: hand-made tensors and tables; a binding that does nothing.
#include "contracts/parameter_table.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"

namespace dlo::contracts {
namespace {

class NoBinding : public BlockBinding {
 public:
  void add_place(PlaceIndex /*place*/, DeviceSpan /*span*/,
                 const BlockLayout& /*layout*/) override {}
  void bind(PlaceIndex /*place*/) noexcept override {}
  void bind_placeholder() noexcept override {}
  void forget_places() noexcept override {}
};

TensorSpec tensor(std::string name, Shape shape, std::vector<std::int64_t> strides = {},
                  DType dtype = DType::kF32) {
  return TensorSpec{std::move(name), TensorKind::kParameter, dtype, std::move(shape),
                    std::move(strides)};
}

ParameterTable small_table(BlockBinding& binding) {
  ParameterTable table;
  table.dits.push_back(
      DitSpec{"transformer",
              {BlockSpec{"transformer.blocks.0", {tensor("a", {2}), tensor("b", {3})}, &binding},
               BlockSpec{"transformer.blocks.1", {tensor("c", {2})}, &binding}},
              BlockSpec{"transformer (non-block)", {tensor("d", {1})}, &binding}});
  return table;
}

template <typename Function>
std::string error_of(const Function& function) {
  try {
    function();
  } catch (const LogicError& error) {
    return error.what();
  }
  return "";
}

TEST(TensorSpec, Contiguous_SpansItsElements) {
  EXPECT_EQ(tensor("t", {2, 3}).span_bytes(), 24U);
  EXPECT_EQ(tensor("t", {}).span_bytes(), 4U);
  EXPECT_EQ(tensor("t", {3}, {}, DType::kF4).span_bytes(), 2U);
  EXPECT_EQ(tensor("t", {0, 7}).span_bytes(), 0U);
}

TEST(TensorSpec, Strided_SpansToItsLastElement) {
  EXPECT_EQ(tensor("transposed", {2, 3}, {1, 2}).span_bytes(), 24U);
  EXPECT_EQ(tensor("padded rows", {2, 3}, {5, 1}).span_bytes(), (5U + 2U + 1U) * 4U);
  EXPECT_EQ(tensor("broadcast", {4, 3}, {0, 1}).span_bytes(), 12U);
  EXPECT_EQ(tensor("empty", {0, 3}, {100, 1}).span_bytes(), 0U);
}

TEST(TensorSpec, ImpossibleShapeOrStride_Throws) {
  const auto huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(static_cast<void>(tensor("t", {-1}).span_bytes()), LogicError);
  EXPECT_THROW(static_cast<void>(tensor("t", {2, 2}, {1}).span_bytes()), LogicError);
  EXPECT_THROW(static_cast<void>(tensor("t", {2}, {-1}).span_bytes()), LogicError);
  EXPECT_THROW(static_cast<void>(tensor("t", {2}, {huge}).span_bytes()), LogicError);
  EXPECT_THROW(static_cast<void>(tensor("t", {4}, {huge}).span_bytes()), LogicError);
  EXPECT_THROW(static_cast<void>(tensor("t", {huge, 4}).span_bytes()), LogicError);
}

TEST(ParameterTable, Tensors_ListsBlocksThenNonBlockInOrder) {
  NoBinding binding;
  const auto table = small_table(binding);
  std::string names;
  for (const auto* spec : table.tensors()) {
    names += spec->name;
  }
  EXPECT_EQ(names, "abcd");
}

TEST(CheckTable, WellFormed_Passes) {
  NoBinding binding;
  EXPECT_NO_THROW(check_table(small_table(binding)));
}

TEST(CheckTable, RepeatedName_IsNamed) {
  NoBinding binding;
  auto table = small_table(binding);
  table.dits[0].non_block.tensors[0].name = "b";
  EXPECT_NE(error_of([&] { check_table(table); }).find("'b' appears twice"), std::string::npos);
}

TEST(CheckTable, NameRepeatedAcrossDits_IsNamed) {
  NoBinding binding;
  auto table = small_table(binding);
  table.dits.push_back(table.dits[0]);
  EXPECT_NE(error_of([&] { check_table(table); }).find("'a' appears twice"), std::string::npos);
}

TEST(CheckTable, MissingBinding_IsNamed) {
  NoBinding binding;
  auto table = small_table(binding);
  table.dits[0].blocks[1].binding = nullptr;
  EXPECT_NE(error_of([&] { check_table(table); }).find("'transformer.blocks.1' has no binding"),
            std::string::npos);
}

TEST(CheckTable, EmptyNonBlock_NeedsNoBinding) {
  NoBinding binding;
  auto table = small_table(binding);
  table.dits[0].non_block = BlockSpec{"none", {}, nullptr};
  EXPECT_NO_THROW(check_table(table));
}

TEST(CheckTable, OverflowingShape_IsNamed) {
  NoBinding binding;
  auto table = small_table(binding);
  table.dits[0].blocks[0].tensors[0].shape = {std::numeric_limits<std::int64_t>::max(), 9};
  EXPECT_NE(error_of([&] { check_table(table); }).find("'a' has an impossible shape"),
            std::string::npos);
}

}  // namespace
}  // namespace dlo::contracts
