// Goal: a crash fault meets exactly its place: the n-th operation of the victim, never another
// rank's; peers of a rank that dies inside a gather are only held up. Method: a real CPU device,
// with notes in place of the end; the end itself on a forked process.
#include "platform/fault/crash_device.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/codes.h"
#include "platform/cpu/cpu_device.h"
#include "platform/posix/self_signal.h"
#include "platform/posix/steady_clock.h"

namespace dlo::platform {
namespace {

class CrashDeviceTest : public testing::Test {
 protected:
  std::unique_ptr<CrashDevice> device(CrashPlace place, std::uint64_t nth, int rank = 1) {
    const CrashFault fault{.rank = 1, .kind = CrashKind::kStops, .place = place, .nth = nth};
    return std::make_unique<CrashDevice>(
        make_cpu_device({}, clock_, *signal_), fault, rank,
        CrashActions{
            .before = [this] { notes_ += "note "; },
            .end = [this](CrashKind kind) { note_end("end", kind); },
            .end_after = [this](CrashKind kind, Nanoseconds) { note_end("later", kind); }});
  }
  void note_end(const std::string& word, CrashKind kind) {
    notes_ += word + (kind == CrashKind::kStops ? " stops " : " dies ");
  }
  // One operation of every place, in the protocol's order.
  void walk(CrashDevice& device) {
    const auto buffer = device.allocate_device(64, MemoryPurpose::kSlot);
    const std::vector<std::byte> bytes(64);
    const auto event = device.create_event();
    device.copy_to_device(StreamKind::kCopy, (*buffer)->span(), bytes, {Site::kPlacement});
    notes_ += "| ";
    device.copy_to_device(StreamKind::kCopy, (*buffer)->span(), bytes, {Site::kH2d});
    notes_ += "| ";
    // Some communicators launch, some launch on the host.
    const auto gather = [this] { gathers_ += 1; };
    if (on_host_) {
      device.launch_host(StreamKind::kComm, gather, {Site::kGather});
    } else {
      device.launch(StreamKind::kComm, gather, {Site::kGather});
    }
    ASSERT_TRUE(device.synchronize(Deadline::after(clock_.now(), 30 * kSecond)).ok());
    notes_ += "| ";
    device.record(event, StreamKind::kCopy, {Site::kReadyRecord});
    device.record(event, StreamKind::kCopy, {Site::kDrain});
  }

  SteadyClock clock_;
  std::unique_ptr<FailureSignal> signal_ = make_local_failure_signal();
  std::string notes_;
  int gathers_ = 0;
  bool on_host_ = false;
};

TEST_F(CrashDeviceTest, EachPlace_IsMetOnceWhereItStands) {
  const std::vector<std::pair<CrashPlace, std::string>> expected = {
      {CrashPlace::kEnable, "note end stops | | | "},
      {CrashPlace::kCopy, "| note end stops | | "},
      {CrashPlace::kBeforeGather, "| | note end stops | "},
      {CrashPlace::kInGather, "| | note later stops | "},
      {CrashPlace::kDisable, "| | | note end stops "},
  };
  for (const bool on_host : {false, true}) {
    on_host_ = on_host;
    for (const auto& [place, notes] : expected) {
      notes_.clear();
      walk(*device(place, 1));
      EXPECT_EQ(notes_, notes) << crash_place_name(place) << (on_host ? ", on the host" : "");
    }
  }
  EXPECT_EQ(gathers_, 10);
}

TEST_F(CrashDeviceTest, SecondOperation_IsMetInTheSecondWalk) {
  const auto crashing = device(CrashPlace::kCopy, 2);
  walk(*crashing);
  EXPECT_EQ(notes_, "| | | ");
  walk(*crashing);
  EXPECT_EQ(notes_, "| | | | note end stops | | ");
}

TEST_F(CrashDeviceTest, OtherRank_GoesOn) {
  for (const auto place : {CrashPlace::kEnable, CrashPlace::kCopy, CrashPlace::kBeforeGather,
                           CrashPlace::kInGather, CrashPlace::kDisable}) {
    notes_.clear();
    walk(*device(place, 1, /*rank=*/0));
    EXPECT_EQ(notes_, "| | | ") << crash_place_name(place);
  }
  EXPECT_EQ(gathers_, 5);
}

TEST(CrashPlace, Names_ReadBack) {
  for (const auto* name : {"enable", "copy", "before_gather", "in_gather", "disable"}) {
    EXPECT_EQ(crash_place_name(crash_place_from_name(name).value()), name);
  }
  const auto unknown = crash_place_from_name("in_gater");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.refusal().code, codes::kInvalidValue);
  EXPECT_NE(unknown.refusal().message().find("'in_gather'"), std::string::npos);
}

// How a process ends or stops in which `act` is called.
int status_after(const std::function<void()>& act) {
  const int pid = ::fork();
  if (pid == 0) {
    act();
    // For signals that come later; the parent's watchdog covers one that never comes.
    ::pause();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, WUNTRACED);
  if (WIFSTOPPED(status)) {
    int ignored = 0;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, &ignored, 0);
  }
  return status;
}

TEST(SelfSignal, KillAndStop_ReachTheProcessNowAndLater) {
  for (const Nanoseconds delay : {Nanoseconds{0}, Nanoseconds{kMillisecond}}) {
    const auto killed = status_after([delay] { signal_self_after(SelfSignal::kKill, delay); });
    EXPECT_TRUE(WIFSIGNALED(killed) && WTERMSIG(killed) == SIGKILL) << delay;
    const auto stopped = status_after([delay] { signal_self_after(SelfSignal::kStop, delay); });
    EXPECT_TRUE(WIFSTOPPED(stopped) && WSTOPSIG(stopped) == SIGSTOP) << delay;
  }
  const auto killed = status_after([] { signal_self(SelfSignal::kKill); });
  EXPECT_TRUE(WIFSIGNALED(killed) && WTERMSIG(killed) == SIGKILL);
  EXPECT_TRUE(WIFSTOPPED(status_after([] { signal_self(SelfSignal::kStop); })));
}

}  // namespace
}  // namespace dlo::platform
