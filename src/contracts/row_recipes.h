// Owns: the recipes that models need by name: rows stacked out of several tensors (fused q, k, v)
// and rows regrouped inside one (MiniMax-H3's q, k, v stored head by head).
// Must not own: which model uses which. Pure functions on plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "contracts/copy_recipe.h"

namespace dlo::contracts {

// One tensor of a stack: its key and its rows.
struct StackedPart {
  std::string source_key;
  std::int64_t rows = 0;
};

// All rows of each part in turn; `row_shape` is the shape of one row, empty for a bias.
[[nodiscard]] CopyRecipe stacked_rows(const std::vector<StackedPart>& parts,
                                      const Shape& row_shape);

// A tensor of 3 * heads * head_rows rows that is stored as (q, k, v) of head 0, (q, k, v) of head
// 1, ... becomes all q, all k, all v. Source: behaviour.md 2.4.
[[nodiscard]] CopyRecipe grouped_qkv(const std::string& source_key, std::int64_t heads,
                                     std::int64_t head_rows, const Shape& row_shape);

}  // namespace dlo::contracts
