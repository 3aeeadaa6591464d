// Goal: an InlineFunction calls, moves and destroys its callable exactly once and never allocates.
// Method: callables that count their lives; operator new of this program counts allocations.
#include "base/inline_function.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "tests/support/allocation_counter.h"

namespace dlo {
namespace {

using Task = InlineFunction<64>;

// Counts live copies of itself in `alive` and calls in `calls`.
struct Counter {
  int* alive;
  int* calls;

  Counter(int& alive_count, int& call_count) : alive(&alive_count), calls(&call_count) { ++*alive; }
  Counter(Counter&& other) noexcept : alive(other.alive), calls(other.calls) { ++*alive; }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  Counter& operator=(Counter&&) = delete;
  ~Counter() { --*alive; }
  void operator()() const { ++*calls; }
};

TEST(InlineFunction, Default_HoldsNothing) {
  Task task;
  EXPECT_FALSE(static_cast<bool>(task));
  task.reset();
  EXPECT_FALSE(static_cast<bool>(task));
}

TEST(InlineFunction, Called_RunsItsCallableEachTime) {
  int calls = 0;
  Task task([&calls] { ++calls; });
  task();
  task();
  EXPECT_EQ(calls, 2);
}

TEST(InlineFunction, Moved_LeavesTheSourceEmptyAndOneLife) {
  int alive = 0;
  int calls = 0;
  {
    Task first{Counter(alive, calls)};
    EXPECT_EQ(alive, 1);
    Task second(std::move(first));
    EXPECT_FALSE(static_cast<bool>(first));  // NOLINT: the moved-from state is specified
    EXPECT_EQ(alive, 1);
    second();
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(alive, 0);
}

TEST(InlineFunction, AssignedOver_DestroysTheOldCallable) {
  int alive = 0;
  int calls = 0;
  int other_alive = 0;
  Task task{Counter(alive, calls)};
  task = Task{Counter(other_alive, calls)};
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(other_alive, 1);
  task = Task();
  EXPECT_EQ(other_alive, 0);
  EXPECT_FALSE(static_cast<bool>(task));
}

TEST(InlineFunction, MoveOnlyCapture_IsHeld) {
  int seen = 0;
  auto value = std::make_unique<int>(5);
  Task task([held = std::move(value), &seen] { seen = *held; });
  Task moved(std::move(task));
  moved();
  EXPECT_EQ(seen, 5);
}

TEST(InlineFunction, MadeMovedCalledAndReset_AllocatesNothing) {
  std::array<char, 48> capture{};
  capture[0] = 1;
  int sum = 0;
  const auto before = test_support::allocation_count();
  Task task([capture, &sum] { sum += capture[0]; });
  Task moved(std::move(task));
  moved();
  moved = Task([&sum] { ++sum; });
  moved();
  moved.reset();
  EXPECT_EQ(test_support::allocation_count(), before);
  EXPECT_EQ(sum, 2);
}

}  // namespace
}  // namespace dlo
