// Goal: stacked rows and grouped q, k, v cover their tensor exactly and put each row where the
// runtime wants it. Method: rows that hold their own number, moved by execute_copy.
#include "contracts/row_recipes.h"

#include <gtest/gtest.h>

#include <map>
#include <span>

namespace dlo::contracts {
namespace {

using Rows = std::vector<std::int32_t>;

// Executes `recipe` on one-column tensors of 32-bit rows.
Rows run(const CopyRecipe& recipe, const std::map<std::string, Rows>& sources, const Shape& shape) {
  Rows out(static_cast<std::size_t>(shape[0]), -1);
  EXPECT_TRUE(check_recipe(recipe, shape).ok());
  for (const auto& copy : recipe.copies) {
    const Rows& rows = sources.at(copy.source_key);
    const TensorView view{
        DType::kI32, {static_cast<std::int64_t>(rows.size()), 1}, std::as_bytes(std::span(rows))};
    EXPECT_TRUE(
        execute_copy(copy, view, shape, DType::kI32, std::as_writable_bytes(std::span(out))).ok());
  }
  return out;
}

TEST(StackedRows, ThreeTensors_FollowEachOther) {
  const auto recipe = stacked_rows({{"q", 2}, {"k", 1}, {"v", 2}}, {1});
  EXPECT_EQ(run(recipe, {{"q", {1, 2}}, {"k", {3}}, {"v", {4, 5}}}, {5, 1}), (Rows{1, 2, 3, 4, 5}));
}

TEST(StackedRows, Bias_HasNoRowShape) {
  const auto recipe = stacked_rows({{"q", 2}, {"k", 2}}, {});
  EXPECT_TRUE(check_recipe(recipe, {4}).ok());
}

TEST(GroupedQkv, RowsStoredHeadByHead_BecomeAllQAllKAllV) {
  // Two heads of two rows: q0 q0 k0 k0 v0 v0 q1 q1 ...
  const auto recipe = grouped_qkv("qkv", 2, 2, {1});
  EXPECT_EQ(run(recipe, {{"qkv", {0, 1, 10, 11, 20, 21, 2, 3, 12, 13, 22, 23}}}, {12, 1}),
            (Rows{0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23}));
}

TEST(GroupedQkv, OneHead_IsTheIdentityInThreeBoxes) {
  const auto recipe = grouped_qkv("qkv", 1, 2, {1});
  EXPECT_EQ(run(recipe, {{"qkv", {0, 1, 2, 3, 4, 5}}}, {6, 1}), (Rows{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(recipe.copies.size(), 3U);
}

}  // namespace
}  // namespace dlo::contracts
