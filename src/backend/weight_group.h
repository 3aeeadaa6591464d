// Owns: the choice of the weight group: the ranks that share one copy of the streamed weights
// (reference 1.5). DP group if DP > 1, else SP group, else none; never TP. Pure arithmetic.
// Must not own: communicators. The engine makes a control group and a communicator of its own
// from `ranks`, used for nothing but weights.
//
// Deviates from vLLM-Omni: the weight collective has its own communicator, never one that SP or
// DP traffic uses.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "comm/process_groups.h"
#include "config/offload_config.h"

namespace dlo::backend {

enum class GroupAxis : std::uint8_t { kNone, kData, kSequence };

[[nodiscard]] std::string_view group_axis_name(GroupAxis axis);  // "none", "data", "sequence"

struct WeightGroup {
  GroupAxis axis = GroupAxis::kNone;
  std::vector<int> ranks;  // world ranks in group order; empty without a group

  friend bool operator==(const WeightGroup&, const WeightGroup&) = default;
};

// The weight group of world rank `rank`; kNone unless distributed layerwise offload with AllGather
// is on and DP or SP is above 1. Precondition: 0 <= rank < topology.size().
[[nodiscard]] WeightGroup weight_group(const config::OffloadConfig& config,
                                       const comm::Topology& topology, int rank);

}  // namespace dlo::backend
