// Goal: one failure, one name: the first raised failure stands for every reader.
// Method: the local signal, from one thread and from several that are joined before reading.
#include "base/failure_signal.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace dlo {
namespace {

Failure failure_of(int rank) {
  return Failure{"pin_failed", rank, 2, "pin", "cannot pin 4096 bytes"};
}

TEST(LocalFailureSignal, NothingRaised_PollIsEmpty) {
  EXPECT_FALSE(make_local_failure_signal()->poll().has_value());
}

TEST(LocalFailureSignal, SecondFailure_LeavesTheFirst) {
  const auto signal = make_local_failure_signal();
  signal->raise(failure_of(3));
  signal->raise(failure_of(1));
  ASSERT_TRUE(signal->poll().has_value());
  EXPECT_EQ(signal->poll()->rank, 3);
}

TEST(LocalFailureSignal, ManyThreads_OneWholeFailureStands) {
  const auto signal = make_local_failure_signal();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 4; ++rank) {
    threads.emplace_back([&signal, rank] {
      signal->raise(Failure{"code_" + std::to_string(rank), rank, rank, "op", "detail"});
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  const auto standing = signal->poll();
  ASSERT_TRUE(standing.has_value());
  EXPECT_EQ(standing->code, "code_" + std::to_string(standing->rank));
  EXPECT_EQ(standing->block, standing->rank);
}

TEST(Failure, Message_NamesRankCodeAndBlock) {
  EXPECT_EQ(failure_of(1).message(),
            "rank 1 failed: cannot pin 4096 bytes [pin_failed] (pin, block 2)");
}

TEST(Failure, WithoutBlock_MessageNamesOperationOnly) {
  auto failure = failure_of(0);
  failure.block = -1;
  EXPECT_EQ(failure.message(), "rank 0 failed: cannot pin 4096 bytes [pin_failed] (pin)");
}

TEST(Failure, AsRefusal_KeepsCodeAndPlace) {
  const auto refusal = failure_of(1).refusal();
  EXPECT_EQ(refusal.code, "pin_failed");
  EXPECT_EQ(refusal.where, "rank 1, pin, block 2");
}

}  // namespace
}  // namespace dlo
