#include "backend/weight_group.h"

#include "base/error.h"

namespace dlo::backend {

std::string_view group_axis_name(GroupAxis axis) {
  switch (axis) {
    case GroupAxis::kNone:
      return "none";
    case GroupAxis::kData:
      return "data";
    case GroupAxis::kSequence:
      return "sequence";
  }
  throw LogicError("group axis without a name");
}

WeightGroup weight_group(const config::OffloadConfig& config, const comm::Topology& topology,
                         int rank) {
  const bool gathers =
      config.strategy == config::OffloadStrategy::kDistributedLayerwise && config.dlo_use_allgather;
  if (gathers && topology.dp > 1) {
    return WeightGroup{GroupAxis::kData, comm::dp_group(topology, rank)};
  }
  if (gathers && topology.sp > 1) {
    return WeightGroup{GroupAxis::kSequence, comm::sp_group(topology, rank)};
  }
  return {};
}

}  // namespace dlo::backend
