// Goal: groups are the strided ones of the topology, never the first ranks of the world (bug case
// CO-1), and every rank finds itself in its groups at its own coordinate.
// Method: the worked examples, then every topology of up to 4 x 3 x 3 ranks.
#include "comm/process_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/error.h"

namespace dlo::comm {
namespace {

using Ranks = std::vector<int>;

TEST(ProcessGroups, Dp2Sp2_DpGroupsAreStrided) {
  const Topology topology{.dp = 2, .sp = 2};
  EXPECT_EQ(dp_group(topology, 0), (Ranks{0, 2}));
  EXPECT_EQ(dp_group(topology, 1), (Ranks{1, 3}));
  EXPECT_EQ(dp_group(topology, 2), (Ranks{0, 2}));
  EXPECT_EQ(dp_group(topology, 3), (Ranks{1, 3}));
  EXPECT_EQ(sp_group(topology, 0), (Ranks{0, 1}));
  EXPECT_EQ(sp_group(topology, 3), (Ranks{2, 3}));
  EXPECT_EQ(tp_group(topology, 2), (Ranks{2}));
}

TEST(ProcessGroups, Dp2Tp2_TpVariesFastest) {
  const Topology topology{.dp = 2, .tp = 2};
  EXPECT_EQ(dp_group(topology, 0), (Ranks{0, 2}));
  EXPECT_EQ(dp_group(topology, 3), (Ranks{1, 3}));
  EXPECT_EQ(tp_group(topology, 0), (Ranks{0, 1}));
  EXPECT_EQ(tp_group(topology, 2), (Ranks{2, 3}));
}

TEST(ProcessGroups, Sp2Alone_IsTheWorld) {
  const Topology topology{.sp = 2};
  EXPECT_EQ(sp_group(topology, 1), (Ranks{0, 1}));
  EXPECT_EQ(dp_group(topology, 1), (Ranks{1}));
}

TEST(ProcessGroups, Dp2Sp2Tp2_EachAxisHasItsStride) {
  const Topology topology{2, 2, 2};
  EXPECT_EQ(tp_group(topology, 5), (Ranks{4, 5}));
  EXPECT_EQ(sp_group(topology, 5), (Ranks{5, 7}));
  EXPECT_EQ(dp_group(topology, 5), (Ranks{1, 5}));
}

// The groups of all ranks along one axis: each rank stands at its own coordinate, members agree on
// the list, and the groups tile the world.
template <typename GroupOf>
void expect_partition(const Topology& topology, const GroupOf& group_of, int Coordinates::*axis,
                      int extent) {
  std::multiset<int> seen;
  for (int rank = 0; rank < topology.size(); ++rank) {
    const Ranks group = group_of(topology, rank);
    ASSERT_EQ(group.size(), static_cast<std::size_t>(extent));
    const int place = coordinates_of(topology, rank).*axis;
    EXPECT_EQ(group[static_cast<std::size_t>(place)], rank);
    for (const int member : group) {
      EXPECT_EQ(group_of(topology, member), group);
    }
    if (place == 0) {
      seen.insert(group.begin(), group.end());
    }
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(topology.size()));
  EXPECT_EQ(std::set<int>(seen.begin(), seen.end()).size(), seen.size());
}

TEST(ProcessGroups, EverySmallTopology_EachAxisPartitionsTheWorld) {
  for (int dp = 1; dp <= 4; ++dp) {
    for (int sp = 1; sp <= 3; ++sp) {
      for (int tp = 1; tp <= 3; ++tp) {
        const Topology topology{dp, sp, tp};
        expect_partition(topology, dp_group, &Coordinates::dp, dp);
        expect_partition(topology, sp_group, &Coordinates::sp, sp);
        expect_partition(topology, tp_group, &Coordinates::tp, tp);
      }
    }
  }
}

TEST(Coordinates, EveryRank_RoundTrips) {
  const Topology topology{3, 2, 4};
  for (int rank = 0; rank < topology.size(); ++rank) {
    EXPECT_EQ(rank_of(topology, coordinates_of(topology, rank)), rank);
  }
}

TEST(Coordinates, OutsideTheTopology_Throws) {
  const Topology topology{2, 2, 1};
  EXPECT_THROW(static_cast<void>(coordinates_of(topology, -1)), LogicError);
  EXPECT_THROW(static_cast<void>(coordinates_of(topology, 4)), LogicError);
  EXPECT_THROW(static_cast<void>(rank_of(topology, Coordinates{0, 2, 0})), LogicError);
  EXPECT_THROW(static_cast<void>(rank_of(topology, Coordinates{-1, 0, 0})), LogicError);
}

}  // namespace
}  // namespace dlo::comm
