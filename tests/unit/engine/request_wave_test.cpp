// Goal: every request is answered exactly once, and with waves every replica runs equally many.
// Method: worked examples, then all small counts and group sizes.
#include "engine/request_wave.h"

#include <gtest/gtest.h>

#include <map>

namespace dlo::engine {
namespace {

TEST(RequestWave, ThreeRequestsTwoReplicas_SurplusReplicaRecomputesARealOne) {
  const std::vector<Assignment> first = {{0, true}, {2, true}};
  const std::vector<Assignment> second = {{1, true}, {2, false}};
  EXPECT_EQ(assign_requests(3, Schedule::kWaves, 0, 2), first);
  EXPECT_EQ(assign_requests(3, Schedule::kWaves, 1, 2), second);
}

TEST(RequestWave, IndependentReplicas_RunTheirOwnRequestsOnly) {
  const std::vector<Assignment> second = {{1, true}};
  EXPECT_EQ(assign_requests(3, Schedule::kIndependent, 1, 2), second);
  EXPECT_TRUE(assign_requests(1, Schedule::kIndependent, 1, 2).empty());
}

TEST(RequestWave, AnyCountAndGroup_EachRequestIsAnsweredOnceAndWavesStayInStep) {
  for (int replicas = 1; replicas <= 8; ++replicas) {
    for (std::uint32_t count = 0; count <= 20; ++count) {
      for (const auto schedule : {Schedule::kWaves, Schedule::kIndependent}) {
        std::map<std::uint32_t, int> answers;
        const auto lead = assign_requests(count, schedule, 0, replicas).size();
        for (int replica = 0; replica < replicas; ++replica) {
          const auto mine = assign_requests(count, schedule, replica, replicas);
          if (schedule == Schedule::kWaves) {
            EXPECT_EQ(mine.size(), lead);
          }
          for (const auto& assignment : mine) {
            answers[assignment.request] += assignment.answers ? 1 : 0;
          }
        }
        ASSERT_EQ(answers.size(), count);
        for (const auto& [request, times] : answers) {
          EXPECT_EQ(times, 1) << "request " << request << " of " << count;
        }
      }
    }
  }
}

}  // namespace
}  // namespace dlo::engine
