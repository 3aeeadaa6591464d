// Goal: time marks of the CPU device: absent until the streams have passed both, in stream order,
// across streams, replaced by a later use, absent after a failure, and issuing allocates nothing.
// Method: tasks held back by a gate, and a clock that only the test moves.
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "platform/cpu/cpu_device.h"
#include "platform/posix/steady_clock.h"
#include "tests/support/allocation_counter.h"

namespace dlo::platform {
namespace {

constexpr OpLabel kLabel{Site::kCompute, 0, 0, 0, -1};

class HandClock : public Clock {
 public:
  [[nodiscard]] Nanoseconds now() const override { return now_.load(); }
  void sleep(Nanoseconds /*duration*/) override {}
  [[nodiscard]] std::string wall_time_text() const override { return ""; }
  void set(Nanoseconds now) { now_.store(now); }

 private:
  std::atomic<Nanoseconds> now_{0};
};

class TimeMarksTest : public testing::Test {
 protected:
  // A task of `stream` that moves the clock.
  void at(StreamKind stream, Nanoseconds now) {
    device_->launch(
        stream, [this, now] { clock_.set(now); }, kLabel);
  }
  void finish() { EXPECT_TRUE(device_->synchronize(Deadline{}).ok()); }

  HandClock clock_;
  std::unique_ptr<FailureSignal> signal_ = make_local_failure_signal();
  std::unique_ptr<Device> device_ = make_cpu_device({}, clock_, *signal_);
  TimeMarkId from_ = device_->create_time_mark();
  TimeMarkId to_ = device_->create_time_mark();
};

TEST_F(TimeMarksTest, Elapsed_IsWhatTheClockMovedBetweenTheMarks) {
  at(StreamKind::kCompute, 100);
  device_->mark_time(from_, StreamKind::kCompute);
  at(StreamKind::kCompute, 350);
  device_->mark_time(to_, StreamKind::kCompute);
  finish();
  EXPECT_EQ(device_->elapsed(from_, to_), 250);
  EXPECT_EQ(device_->elapsed(to_, from_), -250);
}

TEST_F(TimeMarksTest, Elapsed_IsAbsentBeforeBothAreReached) {
  EXPECT_EQ(device_->elapsed(from_, to_), std::nullopt);
  std::atomic<bool> open{false};
  device_->mark_time(from_, StreamKind::kCopy);
  finish();
  device_->launch(
      StreamKind::kCompute,
      [&open] {
        while (!open.load()) {
          std::this_thread::yield();
        }
      },
      kLabel);
  device_->mark_time(to_, StreamKind::kCompute);
  EXPECT_EQ(device_->elapsed(from_, to_), std::nullopt);
  open.store(true);
  finish();
  EXPECT_EQ(device_->elapsed(from_, to_), 0);
}

TEST_F(TimeMarksTest, Marks_CompareAcrossStreams) {
  const EventId event = device_->create_event();
  at(StreamKind::kCopy, 10);
  device_->mark_time(from_, StreamKind::kCopy);
  device_->record(event, StreamKind::kCopy, kLabel);
  device_->wait(StreamKind::kCompute, event, kLabel);
  at(StreamKind::kCompute, 17);
  device_->mark_time(to_, StreamKind::kCompute);
  finish();
  EXPECT_EQ(device_->elapsed(from_, to_), 7);
}

TEST_F(TimeMarksTest, LaterUse_ReplacesTheNote) {
  device_->mark_time(from_, StreamKind::kCompute);
  device_->mark_time(to_, StreamKind::kCompute);
  at(StreamKind::kCompute, 40);
  device_->mark_time(to_, StreamKind::kCompute);
  finish();
  EXPECT_EQ(device_->elapsed(from_, to_), 40);
}

TEST_F(TimeMarksTest, MarkBehindAFailure_StaysAbsent) {
  device_->mark_time(from_, StreamKind::kCompute);
  device_->mark_time(to_, StreamKind::kCompute);
  finish();
  device_->launch(
      StreamKind::kCompute, [] { throw std::runtime_error("no"); }, kLabel);
  device_->mark_time(to_, StreamKind::kCompute);
  EXPECT_FALSE(device_->synchronize(Deadline{}).ok());
  EXPECT_EQ(device_->elapsed(from_, to_), std::nullopt);
}

TEST_F(TimeMarksTest, Marking_AllocatesNothing) {
  const auto before = test_support::allocation_count();
  for (int i = 0; i < 100; ++i) {
    device_->mark_time(from_, StreamKind::kCompute);
  }
  EXPECT_EQ(test_support::allocation_count(), before);
  finish();
}

TEST_F(TimeMarksTest, ForeignMark_IsAProgrammerError) {
  EXPECT_THROW(device_->mark_time(TimeMarkId{9999}, StreamKind::kCompute), LogicError);
}

}  // namespace
}  // namespace dlo::platform
