// Goal: on real streams, over NCCL and by copy engines, the oracle bites too: every wait and record
// of the protocol that is dropped or moved, one wrong byte in a copy, and a slot whose bytes go
// before they were read, make the sweep fall short.
// Method: the small sweep of tests/mutants on CUDA, with the stream that the guard protects against
// held up at every block; the unmutated sweep passes under each of those delays, also when every
// slot is poisoned as it is given back. NCCL has one rank a GPU; copy engines gather among ranks
// that share one, too. Rank-local streaming, which is the same whoever gathers, and its mutants run
// once: beside NCCL. With one rank it is all there is, and mutants of the gather's guards are left
// out.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/mpi/mpi_world.h"
#include "platform/cuda/cuda_inventory.h"
#include "platform/posix/steady_clock.h"
#include "tests/mutants/sweep_job.h"
#include "tests/property/backend/delay_device.h"
#include "tests/support/moving_device.h"
#include "tests/support/mutant_device.h"
#include "tests/support/poison_device.h"
#include "tests/support/protocol_guards.h"
#include "tests/support/strict_device.h"

namespace dlo::test {
namespace {

using platform::OpLabel;
using platform::Site;
using platform::StreamKind;
using test_support::at_site;
using test_support::Mutation;
using test_support::PoisonDevice;
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

bool of_staging(Site site) {
  return site == Site::kPackedWait || site == Site::kPackedRecord ||
         site == Site::kStagingFreeWait || site == Site::kStagingFreeRecord;
}

constexpr const char* kNccl = "nccl";
constexpr const char* kCopyEngine = "copy_engine";

// The parameter: platform.gather.
class GpuMutants : public testing::TestWithParam<const char*> {
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
    const auto devices = platform::cuda_device_count();
    if (devices == 0) {
      GTEST_SKIP() << "no CUDA device can be used on this machine";
    }
    if (by_copy_engines() && world()->size() == 1) {
      GTEST_SKIP() << "one rank gathers nothing";
    }
    if (!by_copy_engines() && devices < world()->node_place().local_size) {
      GTEST_SKIP() << "NCCL wants a CUDA device a rank, here are " << devices;
    }
  }

  static bool by_copy_engines() { return GetParam() == std::string_view(kCopyEngine); }
  // Each from two backings.
  static std::size_t streaming_count() { return world()->size() > 1 && !by_copy_engines() ? 4 : 2; }
  // Rank 0 judges and gets the count; the others took part and get 0.
  static std::size_t fallen_short(const DecorateDevice& decorate) {
    const auto results = run_sweep_on(*world(), {.device = "cuda",
                                                 .gather = GetParam(),
                                                 .share_devices = by_copy_engines(),
                                                 .rank_local = !by_copy_engines(),
                                                 .decorate = decorate});
    const auto wanted = 1 + streaming_count();  // resident
    EXPECT_TRUE(world()->rank() != 0 || results.size() == wanted) << "instances were left out";
    return world()->rank() == 0 ? count_fallen_short(results) : 0;
  }
  // Guards that the sweep has.
  template <typename Guards>
  static std::vector<ProtocolGuard> guards_here(const Guards& guards) {
    std::vector<ProtocolGuard> here;
    std::copy_if(guards.begin(), guards.end(), std::back_inserter(here), [](const auto& guard) {
      return by_copy_engines() ? !of_staging(guard.site)
                               : world()->size() > 1 || !of_the_gather(guard.site);
    });
    return here;
  }
  static void expect_red(const DecorateDevice& decorate, std::string_view what) {
    const auto count = fallen_short(decorate);
    if (world()->rank() == 0) {
      EXPECT_GT(count, 0U) << what << " went unnoticed";
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Gather, GpuMutants, testing::Values(kNccl, kCopyEngine),
                         [](const auto& gather) { return std::string(gather.param); });

// By AllGather too; gpu_forward_test has the modes of one rank.
TEST_P(GpuMutants, NoMutation_NeverWaitsForTheDevice) {
  EXPECT_EQ(fallen_short([](auto device) {
              return std::make_unique<test_support::StrictDevice>(std::move(device));
            }),
            0U);
}

TEST_P(GpuMutants, NoMutation_PassesUnderEveryDelay) {
  for (const auto stream : platform::kAllStreams) {
    EXPECT_EQ(fallen_short([stream](auto device) { return delayed(std::move(device), stream); }),
              0U)
        << platform::stream_name(stream);
  }
}

// Nobody reads a slot that was given back, whichever stream is late.
TEST_P(GpuMutants, PoisonedSlots_PassUnderEveryDelay) {
  for (const auto stream : platform::kAllStreams) {
    EXPECT_EQ(fallen_short([stream](auto device) {
                return std::make_unique<PoisonDevice>(delayed(std::move(device), stream));
              }),
              0U)
        << platform::stream_name(stream);
  }
}

TEST_P(GpuMutants, PoisonBeforeTheRead_EveryStreamedInstanceFallsShort) {
  const auto count = fallen_short([](auto device) {
    return std::make_unique<PoisonDevice>(std::move(device), PoisonDevice::When::kBeforeTheRead);
  });
  EXPECT_EQ(count, world()->rank() == 0 ? streaming_count() : 0U);
}

TEST_P(GpuMutants, DroppedWait_FallsShort) {
  for (const auto& guard : guards_here(test_support::kGuardWaits)) {
    expect_red(
        [guard](auto device) {
          return std::make_unique<test_support::MutantDevice>(
              delayed(std::move(device), guard.late), Mutation{at_site(guard.site), {}, {}});
        },
        platform::site_name(guard.site));
  }
}

TEST_P(GpuMutants, DroppedRecord_FallsShort) {
  for (const auto& guard : guards_here(test_support::kGuardRecords)) {
    expect_red(
        [guard](auto device) {
          return std::make_unique<test_support::MutantDevice>(
              delayed(std::move(device), guard.late), Mutation{{}, at_site(guard.site), {}});
        },
        platform::site_name(guard.site));
  }
}

TEST_P(GpuMutants, MovedGuard_FallsShort) {
  for (const auto& guard : guards_here(test_support::all_guards())) {
    expect_red(
        [guard](auto device) {
          return std::make_unique<test_support::MovingDevice>(
              delayed(std::move(device), guard.late), guard.site, guard.moved_to);
        },
        platform::site_name(guard.site));
  }
}

TEST_P(GpuMutants, OneWrongByteInACopy_FallsShort) {
  expect_red(
      [](auto device) {
        return std::make_unique<test_support::MutantDevice>(std::move(device),
                                                            Mutation{{}, {}, at_site(Site::kH2d)});
      },
      "one wrong byte");
}

}  // namespace
}  // namespace dlo::test
