// Goal: a gather that goes through host memory places every rank's bytes as a direct one does, and
// staging memory that cannot be had is refused at set-up.
// Method: the suite of all worlds on a world whose communicators are staged, ranks as threads.
#include "comm/staged_communicator.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "base/codes.h"
#include "base/error.h"
#include "comm/forwarding_world.h"
#include "platform/cpu/cpu_device.h"
#include "platform/posix/steady_clock.h"
#include "tests/support/comm_suite.h"
#include "tests/support/thread_ranks.h"

namespace dlo::comm {
namespace {

class StagedWorld : public ForwardingWorld {
 public:
  using ForwardingWorld::ForwardingWorld;

  Result<std::unique_ptr<Communicator>> make_communicator(const std::vector<int>& ranks,
                                                          std::string_view purpose,
                                                          Deadline deadline,
                                                          Nanoseconds timeout) override {
    auto made = inner().make_communicator(ranks, purpose, deadline, timeout);
    if (!made.ok()) {
      return made.refusal();
    }
    return std::unique_ptr<Communicator>(
        std::make_unique<StagedCommunicator>(std::move(made).value()));
  }
};

TEST(StagedCommunicator, Gather_PlacesEveryRank) {
  for (const int ranks : {1, 2, 3, 8}) {
    platform::SteadyClock clock;
    auto worlds = make_thread_world(ranks, clock);
    test_support::run_ranks(worlds, [&](World& world) {
      StagedWorld staged(world);
      test_support::check_gather_places_every_rank(staged, clock);
    });
  }
}

TEST(StagedCommunicator, StagingMemory_IsALargestPieceAndOneOfEveryRank) {
  for (const int ranks : {1, 3}) {
    platform::SteadyClock clock;
    auto worlds = make_thread_world(ranks, clock);
    test_support::run_ranks(worlds, [&](World& world) {
      const auto deadline = Deadline::after(clock.now(), 10 * kSecond);
      std::vector<int> all(static_cast<std::size_t>(ranks));
      std::iota(all.begin(), all.end(), 0);
      StagedCommunicator staged(
          world.make_communicator(all, "staged", deadline, 10 * kSecond).value());
      const auto device = platform::make_cpu_device({}, clock, world.failure_signal());
      const auto memory = device->allocate_device(1024, platform::MemoryPurpose::kSlot).value();
      const std::vector<DeviceSpan> inputs{memory->span().subspan(0, 256),
                                           memory->span().subspan(256, 512)};
      ASSERT_TRUE(staged.share_inputs(*device, inputs, deadline).ok());
      EXPECT_EQ(device->pinned_memory().now_bytes, 512U * (1 + static_cast<std::uint64_t>(ranks)));
      staged.forget_inputs(inputs, deadline);
    });
  }
}

TEST(StagedCommunicator, NoStagingMemory_IsRefusedWhenInputsAreShared) {
  platform::SteadyClock clock;
  const auto worlds = make_thread_world(1, clock);
  const auto deadline = Deadline::after(clock.now(), 10 * kSecond);
  StagedCommunicator staged(
      worlds.front()->make_communicator({0}, "staged", deadline, 10 * kSecond).value());
  platform::CpuDeviceOptions options;
  options.pinned_budget_bytes = 256;
  const auto device = platform::make_cpu_device(options, clock, worlds.front()->failure_signal());
  const auto memory = device->allocate_device(1024, platform::MemoryPurpose::kSlot).value();
  const auto input = memory->span().subspan(0, 512);
  const auto refused = staged.share_inputs(*device, {input}, deadline);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.refusal().code, codes::kPinFailed);
  EXPECT_THROW(staged.all_gather(*device, platform::StreamKind::kComm, input,
                                 memory->span().subspan(512, 512), {}),
               LogicError);
}

}  // namespace
}  // namespace dlo::comm
