// Goal: every index runs exactly once, exceptions reach the caller, nested and concurrent calls do
// not deadlock. Method: counters per index, for several worker counts.
#include "platform/cpu/thread_executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace dlo::platform {
namespace {

TEST(ThreadExecutor, EveryIndex_RunsOnce) {
  for (const std::size_t workers : {1U, 2U, 5U}) {
    ThreadExecutor executor(workers);
    EXPECT_EQ(executor.worker_count(), workers);
    for (const std::size_t count : {0U, 1U, 3U, 100U}) {
      std::vector<std::atomic<int>> runs(count);
      executor.parallel_for(count, [&](std::size_t i) { runs[i].fetch_add(1); });
      for (const auto& run : runs) {
        EXPECT_EQ(run.load(), 1);
      }
    }
  }
}

TEST(ThreadExecutor, Zero_MeansOnePerHardwareThread) {
  EXPECT_GE(ThreadExecutor(0).worker_count(), 1U);
}

TEST(ThreadExecutor, ThrowingTasks_LowestIndexIsRethrownAfterAllRan) {
  for (const std::size_t workers : {1U, 4U}) {
    ThreadExecutor executor(workers);
    std::atomic<int> runs{0};
    try {
      executor.parallel_for(20, [&](std::size_t i) {
        runs.fetch_add(1);
        if (i == 7 || i == 13) {
          throw std::runtime_error(std::to_string(i));
        }
      });
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "7");
    }
    EXPECT_EQ(runs.load(), 20);
    executor.parallel_for(1, [&](std::size_t) { runs.fetch_add(1); });
    EXPECT_EQ(runs.load(), 21) << "usable afterwards";
  }
}

TEST(ThreadExecutor, CallFromInsideATask_RunsInline) {
  ThreadExecutor executor(3);
  std::atomic<int> runs{0};
  executor.parallel_for(
      4, [&](std::size_t) { executor.parallel_for(5, [&](std::size_t) { runs.fetch_add(1); }); });
  EXPECT_EQ(runs.load(), 20);
}

TEST(ThreadExecutor, CallsFromSeveralThreads_TakeTurns) {
  ThreadExecutor executor(2);
  std::atomic<int> runs{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back(
        [&] { executor.parallel_for(50, [&](std::size_t) { runs.fetch_add(1); }); });
  }
  for (auto& caller : callers) {
    caller.join();
  }
  EXPECT_EQ(runs.load(), 200);
}

}  // namespace
}  // namespace dlo::platform
