// Goal: a recipe moves exactly the boxes it names, and one that leaves gaps, overlaps or leaves a
// tensor is refused before a byte moves.
// Method: small integer tensors whose expected contents are written out.
#include "contracts/copy_recipe.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "base/codes.h"

namespace dlo::contracts {
namespace {

using Values = std::vector<std::uint8_t>;

Values counted(std::size_t count) {
  Values values(count);
  std::iota(values.begin(), values.end(), std::uint8_t{1});
  return values;
}

TensorView view_of(const Values& values, Shape shape) {
  return TensorView{DType::kU8, std::move(shape), std::as_bytes(std::span(values))};
}

// Runs every copy of `recipe` from one source into a zeroed tensor of `shape`.
Values executed(const CopyRecipe& recipe, const TensorView& source, const Shape& shape) {
  Values out(*element_count(shape));
  for (const auto& copy : recipe.copies) {
    const auto status =
        execute_copy(copy, source, shape, source.dtype, std::as_writable_bytes(std::span(out)));
    EXPECT_TRUE(status.ok());
  }
  return out;
}

TEST(CopyRecipe, Identity_CoversAndCopiesEverything) {
  const Shape shape{2, 3};
  const auto recipe = CopyRecipe::identity("key", shape);
  EXPECT_TRUE(check_recipe(recipe, shape).ok());
  EXPECT_EQ(recipe.copies[0].source_key, "key");
  EXPECT_EQ(executed(recipe, view_of(counted(6), shape), shape), counted(6));
}

TEST(CopyRecipe, IdentityOfScalarAndEmpty_Works) {
  EXPECT_TRUE(check_recipe(CopyRecipe::identity("k", {}), {}).ok());
  EXPECT_EQ(executed(CopyRecipe::identity("k", {}), view_of({9}, {}), {}), (Values{9}));
  EXPECT_TRUE(check_recipe(CopyRecipe::identity("k", {0, 4}), {0, 4}).ok());
  EXPECT_EQ(executed(CopyRecipe::identity("k", {0, 4}), view_of({}, {0, 4}), {0, 4}), Values{});
}

TEST(CopyRecipe, ColumnSlice_TakesPartOfEachRow) {
  // Tensor-parallel rank 1 of 2 along the columns of a 3 x 4 matrix.
  const CopyRecipe recipe{{BoxCopy{"w", Box{{0, 2}, {3, 2}}, Box{{0, 0}, {3, 2}}}}};
  EXPECT_TRUE(check_recipe(recipe, {3, 2}).ok());
  EXPECT_EQ(executed(recipe, view_of(counted(12), {3, 4}), {3, 2}), (Values{3, 4, 7, 8, 11, 12}));
}

TEST(CopyRecipe, GroupedRows_AreReordered) {
  // Rows grouped per head as (q, k, v); the runtime wants all q, all k, all v.
  CopyRecipe recipe;
  for (std::int64_t part = 0; part < 3; ++part) {
    for (std::int64_t head = 0; head < 2; ++head) {
      recipe.copies.push_back(
          BoxCopy{"qkv", Box{{3 * head + part, 0}, {1, 2}}, Box{{2 * part + head, 0}, {1, 2}}});
    }
  }
  EXPECT_TRUE(check_recipe(recipe, {6, 2}).ok());
  EXPECT_EQ(executed(recipe, view_of(counted(12), {6, 2}), {6, 2}),
            (Values{1, 2, 7, 8, 3, 4, 9, 10, 5, 6, 11, 12}));
}

TEST(CopyRecipe, FusedSources_FillTheirOwnRows) {
  const CopyRecipe recipe{{BoxCopy{"q", Box{{0, 0}, {1, 2}}, Box{{0, 0}, {1, 2}}},
                           BoxCopy{"k", Box{{0, 0}, {1, 2}}, Box{{1, 0}, {1, 2}}}}};
  EXPECT_TRUE(check_recipe(recipe, {2, 2}).ok());
  Values out(4);
  const Values q{1, 2};
  const Values k{3, 4};
  const auto bytes = std::as_writable_bytes(std::span(out));
  EXPECT_TRUE(execute_copy(recipe.copies[0], view_of(q, {1, 2}), {2, 2}, DType::kU8, bytes).ok());
  EXPECT_TRUE(execute_copy(recipe.copies[1], view_of(k, {1, 2}), {2, 2}, DType::kU8, bytes).ok());
  EXPECT_EQ(out, (Values{1, 2, 3, 4}));
}

TEST(CopyRecipe, PartialInnerBoxOfThreeDimensions_CopiesEachRun) {
  const CopyRecipe recipe{{BoxCopy{"w", Box{{1, 0, 1}, {1, 2, 2}}, Box{{0, 1, 0}, {1, 2, 2}}}}};
  const auto out = executed(recipe, view_of(counted(12), {2, 2, 3}), {1, 3, 2});
  EXPECT_EQ(out, (Values{0, 0, 8, 9, 11, 12}));
}

TEST(CopyRecipe, WideElements_MoveWhole) {
  const std::vector<double> source{1.5, 2.5, 3.5, 4.5};
  std::vector<double> out(2);
  const BoxCopy copy{"w", Box{{2}, {2}}, Box{{0}, {2}}};
  const TensorView view{DType::kF64, {4}, std::as_bytes(std::span(source))};
  EXPECT_TRUE(
      execute_copy(copy, view, {2}, DType::kF64, std::as_writable_bytes(std::span(out))).ok());
  EXPECT_EQ(out, (std::vector<double>{3.5, 4.5}));
}

struct BadRecipe {
  const char* why;
  CopyRecipe recipe;
  Shape shape;
};

TEST(CheckRecipe, GapOverlapOrOverhang_IsRefused) {
  const auto copy = [](Box source, Box destination) {
    return BoxCopy{"w", std::move(source), std::move(destination)};
  };
  const std::vector<BadRecipe> bad = {
      {"empty recipe", {}, {2}},
      {"gap", {{copy({{0}, {1}}, {{0}, {1}})}}, {2}},
      {"overlap", {{copy({{0}, {2}}, {{0}, {2}}), copy({{0}, {1}}, {{1}, {1}})}}, {3}},
      {"overhang", {{copy({{0}, {3}}, {{0}, {3}})}}, {2}},
      {"negative start", {{copy({{0}, {2}}, {{-1}, {2}})}}, {2}},
      {"negative source start", {{copy({{-1}, {2}}, {{0}, {2}})}}, {2}},
      {"negative extent", {{copy({{0}, {-2}}, {{0}, {-2}})}}, {2}},
      {"extents differ", {{copy({{0}, {1}}, {{0}, {2}})}}, {2}},
      {"another rank", {{copy({{0, 0}, {1, 2}}, {{0, 0}, {1, 2}})}}, {2}},
      {"start far outside", {{copy({{0}, {1}}, {{INT64_MIN}, {1}})}}, {2}},
  };
  for (const auto& row : bad) {
    const auto status = check_recipe(row.recipe, row.shape);
    ASSERT_FALSE(status.ok()) << row.why;
    EXPECT_EQ(status.refusal().code, codes::kShapeMismatch) << row.why;
  }
}

TEST(CheckRecipe, EmptyTensor_NeedsNoCopy) {
  EXPECT_TRUE(check_recipe(CopyRecipe{}, {0}).ok());
}

TEST(ExecuteCopy, WrongShapeOrDtype_IsRefusedAndWritesNothing) {
  const Values source = counted(4);
  Values out(4);
  const auto bytes = std::as_writable_bytes(std::span(out));
  const auto whole = CopyRecipe::identity("w", {4}).copies[0];
  const auto shape = execute_copy(whole, view_of(source, {3}), {4}, DType::kU8, bytes);
  ASSERT_FALSE(shape.ok());
  EXPECT_EQ(shape.refusal().code, codes::kShapeMismatch);
  EXPECT_EQ(shape.refusal().where, "w");
  const auto dtype = execute_copy(whole, view_of(source, {4}), {4}, DType::kI8, bytes);
  ASSERT_FALSE(dtype.ok());
  EXPECT_EQ(dtype.refusal().code, codes::kDtypeMismatch);
  EXPECT_EQ(out, Values(4));
}

TEST(ExecuteCopy, ViewShorterThanItsShape_Throws) {
  const Values source = counted(3);
  Values out(4);
  const auto whole = CopyRecipe::identity("w", {4}).copies[0];
  EXPECT_THROW(static_cast<void>(execute_copy(whole, view_of(source, {4}), {4}, DType::kU8,
                                              std::as_writable_bytes(std::span(out)))),
               LogicError);
}

}  // namespace
}  // namespace dlo::contracts
