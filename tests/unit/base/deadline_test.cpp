// Goal: a deadline is a point on a clock that never wraps.
// Method: points before, at and after it, and timeouts that do not fit.
#include "base/deadline.h"

#include <gtest/gtest.h>

namespace dlo {
namespace {

TEST(Deadline, ReachedPoint_HasExpired) {
  const auto deadline = Deadline::after(5 * kSecond, 2 * kSecond);
  EXPECT_FALSE(deadline.expired(7 * kSecond - 1));
  EXPECT_TRUE(deadline.expired(7 * kSecond));
  EXPECT_TRUE(deadline.expired(8 * kSecond));
}

TEST(Deadline, Remaining_NeverNegative) {
  const auto deadline = Deadline::after(0, kMillisecond);
  EXPECT_EQ(deadline.remaining(0), kMillisecond);
  EXPECT_EQ(deadline.remaining(kMillisecond - 1), 1);
  EXPECT_EQ(deadline.remaining(kSecond), 0);
}

TEST(Deadline, Default_NeverExpires) {
  EXPECT_FALSE(Deadline{}.expired(std::numeric_limits<Nanoseconds>::max() - 1));
}

TEST(Deadline, TimeoutBeyondTheAxis_IsForEver) {
  const auto deadline = Deadline::after(kSecond, std::numeric_limits<Nanoseconds>::max());
  EXPECT_EQ(deadline.at, std::numeric_limits<Nanoseconds>::max());
}

TEST(Deadline, TimeoutBelowTheAxis_HasExpired) {
  const auto deadline = Deadline::after(-2, std::numeric_limits<Nanoseconds>::min());
  EXPECT_TRUE(deadline.expired(-2));
}

}  // namespace
}  // namespace dlo
