// Goal: a rank's context carries its numbers, its failure signal and a logger with its name.
// Method: two contexts in one process stay apart.
#include "base/rank_context.h"

#include <gtest/gtest.h>

namespace dlo {
namespace {

TEST(RankContext, TwoInOneProcess_StayApart) {
  const auto signal0 = make_local_failure_signal();
  const auto signal1 = make_local_failure_signal();
  const auto context0 = make_rank_context(0, 2, *signal0);
  const auto context1 = make_rank_context(1, 2, *signal1);
  EXPECT_EQ(context0.rank, 0);
  EXPECT_EQ(context1.rank, 1);
  EXPECT_EQ(context1.world_size, 2);
  EXPECT_EQ(context0.failure_signal, signal0.get());
  EXPECT_EQ(context0.log->name(), "rank 0");
  EXPECT_EQ(context1.log->name(), "rank 1");
  EXPECT_NE(context0.log, context1.log);
}

}  // namespace
}  // namespace dlo
