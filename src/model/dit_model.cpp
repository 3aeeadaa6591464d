#include "model/dit_model.h"

#include <fmt/format.h>

#include "base/codes.h"
#include "base/error.h"

namespace dlo::model {

namespace {

constexpr std::array<const char*, 3> kAxisNames = {"frames", "height", "width"};

}  // namespace

Status DitGeometry::check_grid(const std::array<std::int64_t, 3>& grid) const {
  for (std::size_t axis = 0; axis < grid.size(); ++axis) {
    const std::string where = fmt::format("latent {} {}", kAxisNames[axis], grid[axis]);
    if (grid[axis] < 1 || grid[axis] % patch_size[axis] != 0) {
      return refuse(
          codes::kInvalidValue,
          fmt::format("the latent grid is not a multiple of the patch size {}", patch_size[axis]),
          where, fmt::format("choose a positive multiple of {}", patch_size[axis]));
    }
    if (grid[axis] / patch_size[axis] > max_positions) {
      return refuse(
          codes::kInvalidValue,
          fmt::format("the latent grid has more positions than the model's {}", max_positions),
          where, fmt::format("choose at most {}", max_positions * patch_size[axis]));
    }
  }
  return {};
}

std::int64_t DitGeometry::token_count(const std::array<std::int64_t, 3>& grid) const {
  return (grid[0] / patch_size[0]) * (grid[1] / patch_size[1]) * (grid[2] / patch_size[2]);
}

void DitModel::set_child_observer(std::size_t child, contracts::BlockObserver* /*observer*/) {
  throw LogicError(fmt::format("'{}' has no child ring {}", spec().name, child));
}

}  // namespace dlo::model
