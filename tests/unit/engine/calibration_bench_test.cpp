// Goal: a calibration whose streams do not end aborts its gathers before its buffers go, and one
// whose streams end leaves them alone.
// Method: the bench over a device whose synchronize can be refused, and a communicator that counts.
#include "engine/calibration_bench.h"

#include <gtest/gtest.h>

#include "base/codes.h"
#include "comm/threads/thread_world.h"
#include "platform/cpu/cpu_device.h"
#include "platform/forwarding_device.h"
#include "platform/posix/steady_clock.h"
#include "tests/support/inline_device.h"

namespace dlo::engine {
namespace {

class CountingCommunicator : public comm::Communicator {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 2; }
  void all_gather(platform::Device&, platform::StreamKind, DeviceSpan, DeviceSpan,
                  const platform::OpLabel&) override {}
  void abort() noexcept override { ++aborts; }
  void forget_inputs(const std::vector<DeviceSpan>&, Deadline) noexcept override { ++forgotten; }

  int aborts = 0;
  int forgotten = 0;
};

class BusyDevice : public platform::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  [[nodiscard]] Status synchronize(Deadline deadline) override {
    return busy ? Status(refuse(codes::kDeadlineExceeded, "a stream is busy", "device", "wait"))
                : inner().synchronize(deadline);
  }

  [[nodiscard]] bool query(platform::EventId event) const override {
    return !stuck && ForwardingDevice::query(event);
  }

  bool busy = false;
  bool stuck = false;
};

TEST(CalibrationBench, StreamThatDoesNotEnd_AbortsTheGathers) {
  test::StillClock clock;
  const auto worlds = comm::make_thread_world(1, clock);
  BusyDevice device(std::make_unique<test::InlineDevice>());
  CountingCommunicator communicator;
  const auto made =
      CalibrationBench::make({device, &communicator, worlds.front()->control(), kSecond}, 64, 32);
  ASSERT_TRUE(made.ok()) << made.refusal().message();
  auto& bench = **made;
  bench.gather(false);
  EXPECT_TRUE(bench.finish().ok());
  EXPECT_EQ(communicator.aborts, 0);
  device.busy = true;
  bench.gather(false);
  EXPECT_EQ(bench.finish().refusal().code, codes::kDeadlineExceeded);
  EXPECT_EQ(communicator.aborts, 1);
}

// What is queued may still write into the buffers and read the peers' pieces.
TEST(CalibrationBench, StreamThatNeverRests_KeepsItsBuffersAndWhatPeersKnowOfThem) {
  platform::SteadyClock clock;
  const auto worlds = comm::make_thread_world(1, clock);
  for (const bool stuck : {false, true}) {
    BusyDevice device(platform::make_cpu_device({}, clock, worlds.front()->failure_signal()));
    CountingCommunicator communicator;
    auto made = CalibrationBench::make(
        {device, &communicator, worlds.front()->control(), 20 * kMillisecond}, 64, 32);
    ASSERT_TRUE(made.ok()) << made.refusal().message();
    device.busy = true;
    device.stuck = stuck;
    EXPECT_FALSE((*made)->finish().ok());
    EXPECT_GE(communicator.aborts, stuck ? 2 : 1) << "again and again until it rests";
    made.value().reset();
    EXPECT_EQ(communicator.forgotten, stuck ? 0 : 1);
    EXPECT_EQ(device.pinned_memory().now_bytes > 0, stuck);
    EXPECT_EQ(device.device_memory().now_bytes > 0, stuck);
  }
}

}  // namespace
}  // namespace dlo::engine
