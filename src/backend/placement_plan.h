// Owns: module discovery: which block of which DiT is streamed and which is resident, with the
// layout of each, and the check that every tensor of the model has exactly one place.
// Must not own: buffers, transfers, host tensors. A plain value over the ParameterTable, which
// outlives it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "contracts/block_layout.h"
#include "contracts/parameter_table.h"

namespace dlo::backend {

enum class Residency : std::uint8_t { kStreamed, kResident };

struct BlockPlacement {
  const contracts::BlockSpec* spec = nullptr;
  Residency residency = Residency::kResident;
  contracts::BlockLayout layout;
};

struct DitPlacement {
  std::string name;
  std::vector<BlockPlacement> blocks;  // ring order; all streamed or all resident
  BlockPlacement non_block;            // always resident

  [[nodiscard]] bool streamed() const {
    return !blocks.empty() && blocks.front().residency == Residency::kStreamed;
  }
};

struct PlacementPlan {
  std::vector<DitPlacement> dits;  // order of the table

  [[nodiscard]] std::uint32_t block_count(Residency residency) const;
};

// Streams the rings of `table` when `stream` holds, except rings of a single block, which become
// resident: there is nothing to load it beside.
[[nodiscard]] PlacementPlan plan_placement(const contracts::ParameterTable& table, bool stream);

// Refuses with placement_invalid when a tensor of `table` has no place in `plan`, or two, or the
// plan places one that the table does not know. Names up to ten of each.
[[nodiscard]] Status check_coverage(const contracts::ParameterTable& table,
                                    const PlacementPlan& plan);

}  // namespace dlo::backend
