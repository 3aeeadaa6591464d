#include "comm/process_groups.h"

#include "base/error.h"

namespace dlo::comm {

Coordinates coordinates_of(const Topology& topology, int rank) {
  require(rank >= 0 && rank < topology.size(), "rank lies outside the topology");
  const int replica = rank / topology.tp;
  return Coordinates{replica / topology.sp, replica % topology.sp, rank % topology.tp};
}

int rank_of(const Topology& topology, const Coordinates& c) {
  require(c.dp >= 0 && c.dp < topology.dp && c.sp >= 0 && c.sp < topology.sp && c.tp >= 0 &&
              c.tp < topology.tp,
          "coordinates lie outside the topology");
  return (c.dp * topology.sp + c.sp) * topology.tp + c.tp;
}

namespace {

std::vector<int> group_along(const Topology& topology, int rank, int Coordinates::*axis,
                             int extent) {
  auto coordinates = coordinates_of(topology, rank);
  std::vector<int> ranks;
  for (int i = 0; i < extent; ++i) {
    coordinates.*axis = i;
    ranks.push_back(rank_of(topology, coordinates));
  }
  return ranks;
}

}  // namespace

std::vector<int> dp_group(const Topology& topology, int rank) {
  return group_along(topology, rank, &Coordinates::dp, topology.dp);
}

std::vector<int> sp_group(const Topology& topology, int rank) {
  return group_along(topology, rank, &Coordinates::sp, topology.sp);
}

std::vector<int> tp_group(const Topology& topology, int rank) {
  return group_along(topology, rank, &Coordinates::tp, topology.tp);
}

}  // namespace dlo::comm
