#include "contracts/row_recipes.h"

namespace dlo::contracts {

namespace {

constexpr std::int64_t kQkvParts = 3;

// `count` whole rows from row `first` on.
Box rows_box(std::int64_t first, std::int64_t count, const Shape& row_shape) {
  Box box{{first}, {count}};
  box.start.resize(row_shape.size() + 1, 0);
  box.extent.insert(box.extent.end(), row_shape.begin(), row_shape.end());
  return box;
}

}  // namespace

CopyRecipe stacked_rows(const std::vector<StackedPart>& parts, const Shape& row_shape) {
  CopyRecipe recipe;
  std::int64_t first = 0;
  for (const auto& part : parts) {
    recipe.copies.push_back({part.source_key, rows_box(0, part.rows, row_shape),
                             rows_box(first, part.rows, row_shape)});
    first += part.rows;
  }
  return recipe;
}

CopyRecipe grouped_qkv(const std::string& source_key, std::int64_t heads, std::int64_t head_rows,
                       const Shape& row_shape) {
  CopyRecipe recipe;
  for (std::int64_t part = 0; part < kQkvParts; ++part) {
    for (std::int64_t head = 0; head < heads; ++head) {
      recipe.copies.push_back(
          {source_key, rows_box((head * kQkvParts + part) * head_rows, head_rows, row_shape),
           rows_box((part * heads + head) * head_rows, head_rows, row_shape)});
    }
  }
  return recipe;
}

}  // namespace dlo::contracts
