// Goal: a watch releases nothing while nothing failed, releases again and again once the signal
// stands or it is told to, without any help of the thread that made it, and never behind its end.
// Method: a counter as what is released; every wait has a bound of its own.
#include "comm/release_watch.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/codes.h"
#include "base/deadline.h"
#include "platform/posix/steady_clock.h"

namespace dlo::comm {
namespace {

constexpr Nanoseconds kAWhile = 50 * kMillisecond;

bool reaches(const std::atomic<int>& count, int wanted) {
  platform::SteadyClock clock;
  const auto deadline = Deadline::after(clock.now(), 30 * kSecond);
  while (count.load() < wanted && !deadline.expired(clock.now())) {
    clock.sleep(kMillisecond);
  }
  return count.load() >= wanted;
}

TEST(ReleaseWatch, NothingFailed_ReleasesNothing) {
  const auto signal = make_local_failure_signal();
  std::atomic<int> count{0};
  {
    const ReleaseWatch watch(*signal, [&count] { ++count; });
    platform::SteadyClock().sleep(kAWhile);
  }
  EXPECT_EQ(count.load(), 0);
}

TEST(ReleaseWatch, PeerFails_ReleasesUntilItsEnd) {
  const auto signal = make_local_failure_signal();
  std::atomic<int> count{0};
  int at_end = 0;
  {
    const ReleaseWatch watch(*signal, [&count] { ++count; });
    signal->raise({std::string(codes::kPeerFailed), 1, -1, "liveness", "rank 1 is gone"});
    EXPECT_TRUE(reaches(count, 3)) << "one release may be undone by a write that a peer has queued";
  }
  at_end = count.load();
  platform::SteadyClock().sleep(kAWhile);
  EXPECT_EQ(count.load(), at_end);
}

TEST(ReleaseWatch, ToldTo_ReleasesWithoutAFailure) {
  const auto signal = make_local_failure_signal();
  std::atomic<int> count{0};
  ReleaseWatch watch(*signal, [&count] { ++count; });
  watch.release_now();
  EXPECT_TRUE(reaches(count, 2));
}

}  // namespace
}  // namespace dlo::comm
