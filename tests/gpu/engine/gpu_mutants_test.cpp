// Goal: on real streams and over NCCL the oracle bites too: every wait and record of the protocol
// that is dropped or moved, and one wrong byte in a copy, makes the sweep fall short.
// Method: the small sweep of tests/mutants on CUDA, one rank a GPU, with the stream that the guard
// protects against held up at every block; the unmutated sweep passes under each of those delays.
// With one rank only rank-local streaming runs, and mutants of the gather's guards are left out.
#include <gtest/gtest.h>

#include "comm/mpi/mpi_world.h"
#include "platform/cuda/cuda_inventory.h"
#include "platform/posix/steady_clock.h"
#include "tests/mutants/sweep_job.h"
#include "tests/property/backend/delay_device.h"
#include "tests/support/moving_device.h"
#include "tests/support/mutant_device.h"

namespace dlo::test {
namespace {

using platform::OpLabel;
using platform::Site;
using platform::StreamKind;
using test_support::Mutation;

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

test_support::LabelPredicate at(Site site) {
  return [site](const OpLabel& label) { return label.site == site; };
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
    // Resident and rank-local, with peers AllGather; only rank 0 has results.
    const std::size_t wanted = world()->size() > 1 ? 3 : 2;
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

struct GuardCase {
  Site site;
  StreamKind delay;  // the stream whose operation the guard is there for
};

constexpr GuardCase kWaits[] = {{Site::kReadyWait, StreamKind::kCopy},
                                {Site::kFreeWait, StreamKind::kCompute},
                                {Site::kLandedWait, StreamKind::kCopy},
                                {Site::kInputFreeWait, StreamKind::kComm}};
constexpr GuardCase kRecords[] = {{Site::kReadyRecord, StreamKind::kCopy},
                                  {Site::kFreeRecord, StreamKind::kCompute},
                                  {Site::kLandedRecord, StreamKind::kCopy},
                                  {Site::kInputFreeRecord, StreamKind::kComm}};

TEST_F(GpuMutants, NoMutation_PassesUnderEveryDelay) {
  for (const auto stream : {StreamKind::kCompute, StreamKind::kCopy, StreamKind::kComm}) {
    EXPECT_EQ(fallen_short([stream](auto device) { return delayed(std::move(device), stream); }),
              0U);
  }
}

TEST_F(GpuMutants, DroppedWait_FallsShort) {
  for (const auto& [site, delay] : kWaits) {
    if (world()->size() == 1 && of_the_gather(site)) {
      continue;
    }
    expect_red(
        [site = site, delay = delay](auto device) {
          return std::make_unique<test_support::MutantDevice>(delayed(std::move(device), delay),
                                                              Mutation{at(site), {}, {}});
        },
        platform::site_name(site));
  }
}

TEST_F(GpuMutants, DroppedRecord_FallsShort) {
  for (const auto& [site, delay] : kRecords) {
    if (world()->size() == 1 && of_the_gather(site)) {
      continue;
    }
    expect_red(
        [site = site, delay = delay](auto device) {
          return std::make_unique<test_support::MutantDevice>(delayed(std::move(device), delay),
                                                              Mutation{{}, at(site), {}});
        },
        platform::site_name(site));
  }
}

TEST_F(GpuMutants, MovedGuard_FallsShort) {
  struct Move {
    Site site;
    StreamKind to;
    StreamKind delay;
  };
  constexpr Move kMoves[] = {{Site::kReadyWait, StreamKind::kCopy, StreamKind::kCopy},
                             {Site::kFreeWait, StreamKind::kCompute, StreamKind::kCompute},
                             {Site::kLandedWait, StreamKind::kCopy, StreamKind::kCopy},
                             {Site::kInputFreeWait, StreamKind::kComm, StreamKind::kComm},
                             {Site::kReadyRecord, StreamKind::kCompute, StreamKind::kCopy},
                             {Site::kFreeRecord, StreamKind::kCopy, StreamKind::kCompute},
                             {Site::kLandedRecord, StreamKind::kCompute, StreamKind::kCopy},
                             {Site::kInputFreeRecord, StreamKind::kCopy, StreamKind::kComm}};
  for (const auto& move : kMoves) {
    if (world()->size() == 1 && of_the_gather(move.site)) {
      continue;
    }
    expect_red(
        [move](auto device) {
          return std::make_unique<test_support::MovingDevice>(
              delayed(std::move(device), move.delay), move.site, move.to);
        },
        platform::site_name(move.site));
  }
}

TEST_F(GpuMutants, OneWrongByteInACopy_FallsShort) {
  expect_red(
      [](auto device) {
        return std::make_unique<test_support::MutantDevice>(std::move(device),
                                                            Mutation{{}, {}, at(Site::kH2d)});
      },
      "one wrong byte");
}

}  // namespace
}  // namespace dlo::test
