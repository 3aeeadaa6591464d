// Goal: ranks that are threads exchange and gather as the World interface says, and end every
// fault by its name. Method: the suite that also runs under mpirun, for 1 to 8 ranks; TSan runs
// it too.
#include "comm/threads/thread_world.h"

#include <gtest/gtest.h>

#include "platform/posix/steady_clock.h"
#include "tests/support/comm_suite.h"
#include "tests/support/thread_ranks.h"

namespace dlo::comm {
namespace {

using Check = void (*)(World&, platform::Clock&);

class ThreadWorld : public testing::TestWithParam<int> {
 protected:
  void run(Check check) {
    platform::SteadyClock clock;
    auto worlds = make_thread_world(GetParam(), clock);
    test_support::run_ranks(worlds, [&](World& world) { check(world, clock); });
  }
};

TEST_P(ThreadWorld, Gather_PlacesEveryRank) {
  run(test_support::check_gather_places_every_rank);
}
TEST_P(ThreadWorld, GridGroups_StayApart) {
  run(test_support::check_grid_groups_stay_apart);
}
TEST_P(ThreadWorld, Exchange_KeepsRankOrder) {
  run(test_support::check_exchange_keeps_rank_order);
}
TEST_P(ThreadWorld, ExchangeMismatch_IsNamed) {
  run(test_support::check_exchange_mismatch_is_named);
}
TEST_P(ThreadWorld, SizeMismatch_IsNamedWithBothSizes) {
  run(test_support::check_gather_size_mismatch_is_named);
}
TEST_P(ThreadWorld, LabelMismatch_IsScheduleMismatch) {
  run(test_support::check_gather_label_mismatch_is_named);
}
TEST_P(ThreadWorld, AbsentRank_EndsGatherByName) {
  run(test_support::check_absent_rank_ends_gather);
}
TEST_P(ThreadWorld, AbsentRank_EndsExchangeByName) {
  run(test_support::check_absent_rank_ends_exchange);
}
TEST_P(ThreadWorld, PeersFailure_EndsGatherWithItsCode) {
  run(test_support::check_failure_ends_peers_gather);
}
TEST_P(ThreadWorld, UnwatchedFailure_IsIgnored) {
  run(test_support::check_unwatched_failure_is_ignored);
}
TEST_P(ThreadWorld, Abort_EndsGather) {
  run(test_support::check_abort_ends_gather);
}

INSTANTIATE_TEST_SUITE_P(Ranks, ThreadWorld, testing::Values(1, 2, 3, 4, 8));

}  // namespace
}  // namespace dlo::comm
