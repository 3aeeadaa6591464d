// Goal: every index runs exactly once, exceptions reach the caller, nested and concurrent calls do
// not deadlock; batches are independent, taken in the order of their start, and each is finished
// by itself. Method: counters per index, for several worker counts; gates hold tasks back.
#include "platform/cpu/thread_executor.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "platform/posix/steady_clock.h"
#include "platform/posix/thread_name.h"
#include "tests/support/gate.h"

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

// As top and the lines of a leak show it.
TEST(ThreadExecutor, Workers_BearTheirName) {
  ThreadExecutor executor(2);
  std::atomic<bool> named{false};
  const auto here = std::this_thread::get_id();
  std::array<char, kThreadNameMax + 1> name{};
  const std::function<void(std::size_t)> task = [&](std::size_t) {
    if (std::this_thread::get_id() != here) {
      ::pthread_getname_np(::pthread_self(), name.data(), name.size());
      named.store(true);
    }
  };
  Batch batch{&task, 1, {}};
  executor.start(batch);
  while (!named.load()) {
    std::this_thread::yield();
  }
  executor.finish(batch);
  EXPECT_STREQ(name.data(), "dlo-worker");
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

TEST(ThreadExecutor, CallsFromSeveralThreads_EachEndsWithItsOwn) {
  ThreadExecutor executor(2);
  std::atomic<int> runs{0};
  std::atomic<int> own_failures{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, name = std::to_string(caller)] {
      try {
        executor.parallel_for(50, [&](std::size_t i) {
          runs.fetch_add(1);
          if (i == 20) {
            throw std::runtime_error(name);
          }
        });
      } catch (const std::runtime_error& error) {
        own_failures.fetch_add(error.what() == name ? 1 : 0);
      }
    });
  }
  for (auto& caller : callers) {
    caller.join();
  }
  EXPECT_EQ(runs.load(), 200);
  EXPECT_EQ(own_failures.load(), 4);
}

// Until `count` is reached, or half a minute has passed.
void await(const std::atomic<int>& counted, int count) {
  SteadyClock clock;
  const auto bound = Deadline::after(clock.now(), 30 * kSecond);
  while (counted.load() < count && !bound.expired(clock.now())) {
    clock.sleep(kMillisecond);
  }
  EXPECT_EQ(counted.load(), count);
}

TEST(Batch, FirstOfTwo_IsFinishedWhileTheSecondIsUnderWay) {
  ThreadExecutor executor(3);
  test_support::Gate gate;
  std::atomic<int> first_runs{0};
  std::atomic<int> second_runs{0};
  std::atomic<int> second_begun{0};
  const std::function<void(std::size_t)> quick = [&](std::size_t) { first_runs.fetch_add(1); };
  const std::function<void(std::size_t)> held = [&](std::size_t) {
    second_begun.fetch_add(1);
    gate.pass();
    second_runs.fetch_add(1);
  };
  Batch first{&quick, 10, {}};
  Batch second{&held, 5, {}};
  executor.start(first);
  executor.start(second);
  await(second_begun, 2);  // both workers
  executor.finish(first);
  EXPECT_EQ(first_runs.load(), 10);
  EXPECT_EQ(second_runs.load(), 0);
  gate.open();
  executor.finish(second);
  EXPECT_EQ(second_runs.load(), 5);
}

TEST(Batch, Workers_TakeBatchesInTheOrderOfTheirStartWithoutAFinish) {
  ThreadExecutor executor(2);
  test_support::Gate gate;
  std::mutex mutex;
  std::string order;
  std::atomic<int> runs{0};
  const auto noted = [&](char name) {
    return [&, name](std::size_t) {
      gate.pass();
      {
        const std::lock_guard lock(mutex);
        order += name;
      }
      runs.fetch_add(1);
    };
  };
  const std::array<std::function<void(std::size_t)>, 3> tasks{noted('a'), noted('b'), noted('c')};
  std::array<Batch, 3> batches{Batch{&tasks[0], 3, {}}, Batch{&tasks[1], 2, {}},
                               Batch{&tasks[2], 3, {}}};
  for (auto& batch : batches) {
    executor.start(batch);
  }
  gate.open();
  await(runs, 8);
  EXPECT_EQ(order, "aaabbccc") << "by the one worker";
  for (auto& batch : batches) {
    executor.finish(batch);  // all of them ran already
  }
  EXPECT_EQ(runs.load(), 8);
}

TEST(Batch, LastOneFinishedFirst_EachRunsOnceAndTheListStaysWhole) {
  for (const std::size_t workers : {1U, 2U, 4U}) {
    ThreadExecutor executor(workers);
    for (int round = 0; round < 50; ++round) {
      std::array<std::vector<std::atomic<int>>, 3> runs{std::vector<std::atomic<int>>(7),
                                                        std::vector<std::atomic<int>>(0),
                                                        std::vector<std::atomic<int>>(5)};
      std::array<std::function<void(std::size_t)>, 3> tasks;
      std::array<Batch, 3> batches;
      for (std::size_t b = 0; b < batches.size(); ++b) {
        tasks[b] = [&runs, b](std::size_t i) { runs[b][i].fetch_add(1); };
        batches[b] = {&tasks[b], runs[b].size(), {}};
        executor.start(batches[b]);
      }
      for (const std::size_t b : {1U, 2U, 0U}) {
        executor.finish(batches[b]);
        for (const auto& run : runs[b]) {
          EXPECT_EQ(run.load(), 1);
        }
      }
    }
  }
}

TEST(Batch, Exceptions_ReachTheFinishOfTheirOwnBatch) {
  for (const std::size_t workers : {1U, 3U}) {
    ThreadExecutor executor(workers);
    const auto failing_at = [](std::set<std::size_t> indices, const std::string& name) {
      return [indices = std::move(indices), name](std::size_t i) {
        if (indices.contains(i)) {
          throw std::runtime_error(name + std::to_string(i));
        }
      };
    };
    const std::function<void(std::size_t)> low = failing_at({4, 9}, "first ");
    const std::function<void(std::size_t)> sound = failing_at({}, "");
    const std::function<void(std::size_t)> high = failing_at({0}, "third ");
    std::array<Batch, 3> batches{Batch{&low, 10, {}}, Batch{&sound, 10, {}}, Batch{&high, 1, {}}};
    for (auto& batch : batches) {
      executor.start(batch);
    }
    const std::array<std::string, 3> wanted{"first 4", "", "third 0"};
    for (std::size_t b = 0; b < batches.size(); ++b) {
      std::string thrown;
      try {
        executor.finish(batches[b]);
      } catch (const std::runtime_error& error) {
        thrown = error.what();
      }
      EXPECT_EQ(thrown, wanted[b]);
    }
    executor.start(batches[2]);
    EXPECT_THROW(executor.finish(batches[2]), std::runtime_error) << "a batch may be started again";
  }
}

TEST(Batch, StartedInsideATask_RunsOnTheThreadThatFinishesIt) {
  ThreadExecutor executor(3);
  std::atomic<int> strays{0};
  std::atomic<int> runs{0};
  executor.parallel_for(4, [&](std::size_t) {
    const auto self = std::this_thread::get_id();
    const std::function<void(std::size_t)> task = [&, self](std::size_t) {
      runs.fetch_add(1);
      strays.fetch_add(std::this_thread::get_id() == self ? 0 : 1);
    };
    Batch batch{&task, 6, {}};
    executor.start(batch);
    executor.finish(batch);
  });
  EXPECT_EQ(runs.load(), 24);
  EXPECT_EQ(strays.load(), 0);
}

TEST(Batch, ExecutorWithoutOtherThreads_RunsNothingBeforeFinish) {
  ThreadExecutor executor(1);
  int runs = 0;
  const std::function<void(std::size_t)> task = [&runs](std::size_t) { ++runs; };
  Batch batch{&task, 3, {}};
  executor.start(batch);
  EXPECT_EQ(runs, 0);
  executor.finish(batch);
  EXPECT_EQ(runs, 3);
}

}  // namespace
}  // namespace dlo::platform
