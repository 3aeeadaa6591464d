// Goal: a calibration whose streams do not end aborts its gathers before its buffers go, and one
// whose streams end leaves them alone.
// Method: the bench over a device whose synchronize can be refused, and a communicator that counts.
#include "engine/calibration_bench.h"

#include <gtest/gtest.h>

#include "base/codes.h"
#include "comm/threads/thread_world.h"
#include "platform/forwarding_device.h"
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

  int aborts = 0;
};

class BusyDevice : public platform::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  [[nodiscard]] Status synchronize(Deadline deadline) override {
    return busy ? Status(refuse(codes::kDeadlineExceeded, "a stream is busy", "device", "wait"))
                : inner().synchronize(deadline);
  }

  bool busy = false;
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

}  // namespace
}  // namespace dlo::engine
