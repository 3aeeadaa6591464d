// Goal: the weight group is the DP group, else the SP group, else none; never TP (reference 1.5).
// Method: topologies by hand.
#include "backend/weight_group.h"

#include <gtest/gtest.h>

#include "tests/unit/backend/backend_fixture.h"

namespace dlo::backend {
namespace {

TEST(WeightGroup, DataParallel_IsTheDpGroup) {
  const auto group = weight_group(test::all_gather_config(), comm::Topology{2, 2, 1}, 3);
  EXPECT_EQ(group, (WeightGroup{GroupAxis::kData, {1, 3}}));
}

TEST(WeightGroup, SequenceParallelAlone_IsTheSpGroup) {
  const auto group = weight_group(test::all_gather_config(), comm::Topology{1, 2, 2}, 1);
  EXPECT_EQ(group, (WeightGroup{GroupAxis::kSequence, {1, 3}}));
}

TEST(WeightGroup, TensorParallelAlone_IsNone) {
  EXPECT_EQ(weight_group(test::all_gather_config(), comm::Topology{1, 1, 4}, 2), WeightGroup{});
}

TEST(WeightGroup, WithoutAllGatherOrWithoutOffload_IsNone) {
  EXPECT_EQ(weight_group(test::rank_local_config(), comm::Topology{4, 1, 1}, 0), WeightGroup{});
  EXPECT_EQ(weight_group(config::OffloadConfig{}, comm::Topology{4, 1, 1}, 0), WeightGroup{});
}

TEST(WeightGroup, AxisNames_AreThoseOfTheReport) {
  EXPECT_EQ(group_axis_name(GroupAxis::kData), "data");
  EXPECT_EQ(group_axis_name(GroupAxis::kSequence), "sequence");
  EXPECT_EQ(group_axis_name(GroupAxis::kNone), "none");
}

}  // namespace
}  // namespace dlo::backend
