// Owns: module discovery: which block of which DiT is streamed, which is resident while its stage
// runs and which always, with the layout of each, and the check that every tensor of the model has
// exactly one place.
// Must not own: buffers, transfers, host tensors. A plain value over the ParameterTable, which
// outlives it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "contracts/block_layout.h"
#include "contracts/offload_plan.h"
#include "contracts/parameter_table.h"

namespace dlo::backend {

// A non-block child with blocks of its own is streamed above this size (reference 5.10).
inline constexpr std::uint64_t kSubmoduleStreamBytes = 1024 * kMiB;

enum class Residency : std::uint8_t {
  kStreamed,
  kStageResident,  // a leading block: on the device between begin_request() and end_request()
  kResident,       // on the device from enable() on
};

struct BlockPlacement {
  const contracts::BlockSpec* spec = nullptr;
  Residency residency = Residency::kResident;
  contracts::BlockLayout layout;
};

struct DitPlacement {
  std::string name;
  std::string parent;  // of a non-block child: its DiT's name
  // Ring order: all resident, or stage-resident ones and then streamed ones.
  std::vector<BlockPlacement> blocks;
  BlockPlacement non_block;  // always resident

  // Blocks that are on the device while the stage runs, at the head of the ring.
  [[nodiscard]] std::uint32_t leading_count() const;
  [[nodiscard]] bool streamed() const {
    return !blocks.empty() && blocks.back().residency == Residency::kStreamed;
  }
  // Some of its bytes live on the host.
  [[nodiscard]] bool offloaded() const {
    return !blocks.empty() && blocks.back().residency != Residency::kResident;
  }
};

struct PlacementPlan {
  std::vector<DitPlacement> dits;  // order of the table

  [[nodiscard]] std::uint32_t block_count(Residency residency) const;
};

struct PlacementRules {
  bool stream = false;
  std::uint32_t resident_layers = 0;  // of DiTs that `offload_plan` declares eligible
  contracts::OffloadPlan offload_plan = {};
};

// Streams the rings of `table` when rules.stream holds, except rings of a single block, which
// become resident: there is nothing to load it beside. A single block behind leading ones joins
// them.
[[nodiscard]] PlacementPlan plan_placement(const contracts::ParameterTable& table,
                                           const PlacementRules& rules);

// Refuses with placement_invalid when a tensor of `table` has no place in `plan`, or two, or the
// plan places one that the table does not know. Names up to ten of each.
[[nodiscard]] Status check_coverage(const contracts::ParameterTable& table,
                                    const PlacementPlan& plan);

}  // namespace dlo::backend
