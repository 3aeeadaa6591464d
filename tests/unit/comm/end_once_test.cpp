// Goal: a handle that one thread uses and another ends is ended exactly once, never under a use
// that goes on by itself, in any case under one that only the end can end, and is not used behind
// it. Method: uses that a gate holds up, a clock that goes by hand, and who ended as a count; and a
// use and an end that race, which ThreadSanitizer watches too.
#include "comm/end_once.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "platform/posix/steady_clock.h"
#include "tests/support/gate.h"
#include "tests/support/inline_device.h"

namespace dlo::comm {
namespace {

constexpr Nanoseconds kPatience = 2 * kSecond;

class EndOnceTest : public testing::Test {
 protected:
  [[nodiscard]] std::function<void()> counted() {
    return [this] { ++count_; };
  }
  // A thread inside of a use until `leave` opens; `whole` is what use() answered.
  [[nodiscard]] std::thread held_up(const test_support::Gate& leave, std::atomic<bool>& whole) {
    test_support::Gate inside;
    std::thread thread([this, &inside, &leave, &whole] {
      whole = ended_.use([&] {
        inside.open();
        leave.pass();
      });
    });
    inside.pass();
    return thread;
  }

  test::StillClock clock_;
  EndOnce ended_{clock_, kPatience};
  std::atomic<int> count_{0};
};

TEST_F(EndOnceTest, NothingEnded_UsesGoThrough) {
  int calls = 0;
  EXPECT_TRUE(ended_.use([&calls] { ++calls; }));
  EXPECT_TRUE(ended_.use([&calls] { ++calls; }));
  EXPECT_EQ(calls, 2);
  EXPECT_FALSE(ended_.ended());
}

TEST_F(EndOnceTest, Ended_IsNeitherUsedNorEndedAgain) {
  ended_.end(counted());
  ended_.end(counted());
  EXPECT_TRUE(ended_.try_end(counted()));
  EXPECT_EQ(count_.load(), 1);
  EXPECT_TRUE(ended_.ended());
  EXPECT_FALSE(ended_.use([] { FAIL() << "the handle is gone"; }));
}

TEST_F(EndOnceTest, NoUseUnderWay_AnotherThreadEndsAtOnce) {
  EXPECT_TRUE(ended_.use([] {}));
  std::thread([this] { EXPECT_TRUE(ended_.try_end(counted())); }).join();
  EXPECT_EQ(count_.load(), 1);
}

TEST_F(EndOnceTest, UseUnderWay_IsLeftAloneUntilItIsThrough) {
  test_support::Gate leave;
  std::atomic<bool> whole{false};
  auto user = held_up(leave, whole);
  EXPECT_FALSE(ended_.try_end(counted()));
  clock_.sleep(kPatience - 1);
  EXPECT_FALSE(ended_.try_end(counted()));
  EXPECT_EQ(count_.load(), 0);
  leave.open();
  user.join();
  EXPECT_TRUE(whole.load()) << "nothing was ended under it";
  EXPECT_TRUE(ended_.try_end(counted()));
  EXPECT_EQ(count_.load(), 1);
}

TEST_F(EndOnceTest, UseThatOnlyTheEndEnds_IsEndedPastPatienceAndSaysSo) {
  test_support::Gate leave;
  std::atomic<bool> whole{true};
  auto user = held_up(leave, whole);
  clock_.sleep(100 * kPatience);  // before the first try: it does not count
  EXPECT_FALSE(ended_.try_end(counted()));
  clock_.sleep(kPatience);
  EXPECT_TRUE(ended_.try_end([&] {
    ++count_;
    leave.open();  // as an abort lets go of the kernel
  }));
  leave.open();  // a test that failed above goes on
  user.join();
  EXPECT_FALSE(whole.load()) << "what it has left is void";
  EXPECT_TRUE(ended_.try_end(counted()));
  ended_.end(counted());
  EXPECT_EQ(count_.load(), 1);
}

TEST_F(EndOnceTest, EndUnderWay_UsesReturnAndEndsWaitForIt) {
  test_support::Gate begun;
  test_support::Gate leave;
  std::thread watch([&] {
    static_cast<void>(ended_.try_end([&] {
      begun.open();
      leave.pass();
      ++count_;
    }));
  });
  begun.pass();
  EXPECT_FALSE(ended_.use([] { FAIL() << "the handle is going"; }));
  std::atomic<int> seen{0};
  test_support::Gate ending;
  std::thread other([&] {
    ending.open();
    ended_.end(counted());
    seen = count_.load();
  });
  ending.pass();
  platform::SteadyClock().sleep(20 * kMillisecond);  // time to return too early in
  leave.open();
  other.join();
  watch.join();
  EXPECT_EQ(seen.load(), 1) << "it returned before the end was through";
  EXPECT_EQ(count_.load(), 1);
}

TEST_F(EndOnceTest, UseThatThrows_LetsGo) {
  EXPECT_THROW(static_cast<void>(ended_.use([] { throw std::runtime_error("refused"); })),
               std::runtime_error);
  EXPECT_TRUE(ended_.try_end(counted()));
  EXPECT_EQ(count_.load(), 1);
}

// The handle is plain memory, which only the coordination keeps from being used while it goes.
TEST(EndOnce, UsesAndEndsThatRace_MeetNever) {
  for (int round = 0; round < 200; ++round) {
    test::StillClock clock;
    EndOnce ended(clock, kPatience);
    int handle = 0;
    std::atomic<int> ends{0};
    const auto end = [&] {
      handle = -1;
      ++ends;
    };
    std::thread watch([&] {
      while (!ended.try_end(end)) {
        std::this_thread::yield();
      }
    });
    while (ended.use([&handle] { ++handle; })) {
      std::this_thread::yield();
    }
    ended.end(end);
    watch.join();
    EXPECT_EQ(handle, -1);
    EXPECT_EQ(ends.load(), 1);
  }
}

}  // namespace
}  // namespace dlo::comm
