// Goal: ranks under mpirun exchange and gather as the World interface says, and end every fault
// by its name. Method: the suite that thread worlds run too, for 1 to 8 ranks.
#include "comm/mpi/mpi_world.h"

#include <gtest/gtest.h>

#include "platform/posix/steady_clock.h"
#include "tests/support/comm_suite.h"

namespace dlo::comm {
namespace {

class MpiWorldTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto started = MpiWorld::start(nullptr, nullptr, MpiWorldOptions{}, clock());
    ASSERT_TRUE(started.ok()) << started.refusal().message();
    world() = std::move(*started);
  }
  static void TearDownTestSuite() {
    if (world()) {
      EXPECT_EQ(world()->leave(0), 0);
    }
    world().reset();
  }
  static platform::SteadyClock& clock() {
    static platform::SteadyClock the_clock;
    return the_clock;
  }
  static std::unique_ptr<MpiWorld>& world() {
    static std::unique_ptr<MpiWorld> the_world;
    return the_world;
  }
};

TEST_F(MpiWorldTest, Gather_PlacesEveryRank) {
  test_support::check_gather_places_every_rank(*world(), clock());
}
TEST_F(MpiWorldTest, RanksOfOneNode_AreCountedFromZero) {
  EXPECT_EQ(world()->node_place().local_rank, world()->rank());
  EXPECT_EQ(world()->node_place().local_size, world()->size());
}
TEST_F(MpiWorldTest, GridGroups_StayApart) {
  test_support::check_grid_groups_stay_apart(*world(), clock());
}
TEST_F(MpiWorldTest, Exchange_KeepsRankOrder) {
  test_support::check_exchange_keeps_rank_order(*world(), clock());
}
TEST_F(MpiWorldTest, ExchangeMismatch_IsNamed) {
  test_support::check_exchange_mismatch_is_named(*world(), clock());
}
TEST_F(MpiWorldTest, SizeMismatch_IsNamedWithBothSizes) {
  test_support::check_gather_size_mismatch_is_named(*world(), clock());
}
TEST_F(MpiWorldTest, LabelMismatch_IsScheduleMismatch) {
  test_support::check_gather_label_mismatch_is_named(*world(), clock());
}
TEST_F(MpiWorldTest, AbsentRank_EndsGatherByName) {
  test_support::check_absent_rank_ends_gather(*world(), clock());
}
TEST_F(MpiWorldTest, AbsentRank_EndsExchangeByName) {
  test_support::check_absent_rank_ends_exchange(*world(), clock());
}
TEST_F(MpiWorldTest, PeersFailure_EndsGatherWithItsCode) {
  test_support::check_failure_ends_peers_gather(*world(), clock());
}
TEST_F(MpiWorldTest, UnwatchedFailure_IsIgnored) {
  test_support::check_unwatched_failure_is_ignored(*world(), clock());
}
TEST_F(MpiWorldTest, Abort_EndsGather) {
  test_support::check_abort_ends_gather(*world(), clock());
}
TEST_F(MpiWorldTest, AfterFailures_GathersAgain) {
  test_support::check_gather_places_every_rank(*world(), clock());
}

}  // namespace
}  // namespace dlo::comm
