// Goal: on real streams and over NCCL the oracle bites too: every wait and record of the protocol
// that is dropped or moved, and one wrong byte in a copy, makes the sweep fall short.
// Method: the small sweep of tests/mutants on CUDA, one rank a GPU, with the stream that the guard
// protects against held up at every block; the unmutated sweep passes under each of those delays.
// With one rank only rank-local streaming runs, and mutants of the gather's guards are left out.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "comm/mpi/mpi_world.h"
#include "platform/cuda/cuda_inventory.h"
#include "platform/posix/steady_clock.h"
#include "tests/mutants/sweep_job.h"
#include "tests/property/backend/delay_device.h"
#include "tests/support/moving_device.h"
#include "tests/support/mutant_device.h"
#include "tests/support/protocol_guards.h"

namespace dlo::test {
namespace {

using platform::OpLabel;
using platform::Site;
using platform::StreamKind;
using test_support::at_site;
using test_support::Mutation;
using test_support::ProtocolGuard;

constexpr Nanoseconds kDelay = 3 * kMillisecond;

platform::SteadyClock& clock_of_test() {
  static platform::SteadyClock clock;
  return clock;
}
std::unique_ptr<comm::MpiWorld>& world() {
  static std::unique_ptr<comm::MpiWorld> the_world;
  return the_world;
}

// The operation of `stream` that is held up before each block.
Site delayed_site(StreamKind stream) {
  switch (stream) {
    case StreamKind::kCompute:
      return Site::kCompute;
    case StreamKind::kCopy:
      return Site::kH2d;
    case StreamKind::kPack:
      return Site::kPack;
    case StreamKind::kComm:
      break;
  }
  return Site::kGather;
}

std::unique_ptr<platform::Device> delayed(std::unique_ptr<platform::Device> device,
                                          StreamKind stream) {
  return std::make_unique<DelayDevice>(std::move(device),
                                       [site = delayed_site(stream)](const OpLabel& label) {
                                         return label.site == site ? kDelay : 0;
                                       });
}

bool of_the_gather(Site site) {
  return site == Site::kLandedWait || site == Site::kLandedRecord || site == Site::kInputFreeWait ||
         site == Site::kInputFreeRecord;
}

class GpuMutants : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto started =
        comm::MpiWorld::start(nullptr, nullptr, comm::MpiWorldOptions{}, clock_of_test());
    ASSERT_TRUE(started.ok()) << started.refusal().message();
    world() = std::move(*started);
  }
  static void TearDownTestSuite() {
    if (world()) {
      EXPECT_EQ(world()->leave(0), 0);
    }
    world().reset();
  }
  void SetUp() override {
    if (platform::cuda_device_count() < world()->node_place().local_size) {
      GTEST_SKIP() << "fewer CUDA devices than ranks";
    }
  }

  static std::size_t fallen_short(const DecorateDevice& decorate) {
    const auto results = run_sweep_on(*world(), {"cuda", 0, decorate});
    // Resident; rank-local and, with peers, AllGather from two backings; only rank 0 has results.
    const std::size_t wanted = world()->size() > 1 ? 5 : 3;
    EXPECT_TRUE(world()->rank() != 0 || results.size() == wanted) << "instances were left out";
    return world()->rank() == 0 ? count_fallen_short(results) : 0;
  }
  // Rank 0 judges; the others took part.
  static void expect_red(const DecorateDevice& decorate, std::string_view what) {
    const auto count = fallen_short(decorate);
    if (world()->rank() == 0) {
      EXPECT_GT(count, 0U) << what << " went unnoticed";
    }
  }
};

TEST_F(GpuMutants, NoMutation_PassesUnderEveryDelay) {
  for (const auto stream : platform::kAllStreams) {
    EXPECT_EQ(fallen_short([stream](auto device) { return delayed(std::move(device), stream); }),
              0U);
  }
}

// Guards that exist with this number of ranks.
template <typename Guards>
std::vector<ProtocolGuard> guards_here(const Guards& guards) {
  std::vector<ProtocolGuard> here;
  std::copy_if(guards.begin(), guards.end(), std::back_inserter(here),
               [](const auto& guard) { return world()->size() > 1 || !of_the_gather(guard.site); });
  return here;
}

TEST_F(GpuMutants, DroppedWait_FallsShort) {
  for (const auto& guard : guards_here(test_support::kGuardWaits)) {
    expect_red(
        [guard](auto device) {
          return std::make_unique<test_support::MutantDevice>(
              delayed(std::move(device), guard.late), Mutation{at_site(guard.site), {}, {}});
        },
        platform::site_name(guard.site));
  }
}

TEST_F(GpuMutants, DroppedRecord_FallsShort) {
  for (const auto& guard : guards_here(test_support::kGuardRecords)) {
    expect_red(
        [guard](auto device) {
          return std::make_unique<test_support::MutantDevice>(
              delayed(std::move(device), guard.late), Mutation{{}, at_site(guard.site), {}});
        },
        platform::site_name(guard.site));
  }
}

TEST_F(GpuMutants, MovedGuard_FallsShort) {
  for (const auto& guard : guards_here(test_support::all_guards())) {
    expect_red(
        [guard](auto device) {
          return std::make_unique<test_support::MovingDevice>(
              delayed(std::move(device), guard.late), guard.site, guard.moved_to);
        },
        platform::site_name(guard.site));
  }
}

TEST_F(GpuMutants, OneWrongByteInACopy_FallsShort) {
  expect_red(
      [](auto device) {
        return std::make_unique<test_support::MutantDevice>(std::move(device),
                                                            Mutation{{}, {}, at_site(Site::kH2d)});
      },
      "one wrong byte");
}

}  // namespace
}  // namespace dlo::test
