// Goal: NCCL's and the copy engines' communicators gather as the seam says; a rank that never comes
// to a gather ends everybody by name within the deadline, and the abort lets the device come to
// rest; staged gathers give the same bytes. Only NCCL needs a GPU for each rank.
// Method: under mpirun with 1, 2, 4 and 8 ranks.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "base/codes.h"
#include "comm/copy_engine/copy_engine_world.h"
#include "comm/mpi/mpi_world.h"
#include "comm/nccl/nccl_world.h"
#include "comm/staged_communicator.h"
#include "platform/cuda/cuda_device.h"
#include "platform/cuda/cuda_inventory.h"
#include "platform/posix/steady_clock.h"

namespace dlo::comm {
namespace {

using platform::MemoryPurpose;
using platform::OpLabel;
using platform::Site;
using platform::StreamKind;

constexpr OpLabel kLabel{Site::kGather, 0, 2, 1, 0};
constexpr Nanoseconds kLong = 60 * kSecond;
constexpr std::uint64_t kPiece = kMiB + 512;
constexpr std::uint64_t kSmallPiece = 256;

platform::SteadyClock& clock_of_test() {
  static platform::SteadyClock clock;
  return clock;
}

std::unique_ptr<MpiWorld>& mpi_world() {
  static std::unique_ptr<MpiWorld> world;
  return world;
}

std::vector<int> all_ranks() {
  std::vector<int> ranks(static_cast<std::size_t>(mpi_world()->size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

Deadline in(Nanoseconds timeout) {
  return Deadline::after(clock_of_test().now(), timeout);
}

// A byte that tells rank and position apart.
std::byte value_of(std::uint64_t rank, std::uint64_t position) {
  return static_cast<std::byte>((rank * 97 + position * 31) % 251);
}

class NcclTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto started = MpiWorld::start(nullptr, nullptr, MpiWorldOptions{}, clock_of_test());
    ASSERT_TRUE(started.ok()) << started.refusal().message();
    mpi_world() = std::move(*started);
  }
  static void TearDownTestSuite() {
    if (mpi_world()) {
      EXPECT_EQ(mpi_world()->leave(0), 0);
    }
    mpi_world().reset();
  }

  // Skips unless there are GPUs enough; with `share` one is enough.
  bool have_devices(bool share) {
    const int count = platform::cuda_device_count();
    return count > 0 && (share || count >= mpi_world()->node_place().local_size);
  }
  std::unique_ptr<platform::Device> make_device() {
    platform::CudaDeviceOptions options;
    options.rank = mpi_world()->rank();
    options.ordinal = mpi_world()->node_place().local_rank % platform::cuda_device_count();
    return platform::make_cuda_device(options, clock_of_test(), mpi_world()->failure_signal());
  }
  NcclWorld nccl_world(const platform::Device& device) {
    return NcclWorld(*mpi_world(), NcclOptions{device.native_stream(StreamKind::kComm).ordinal, {}},
                     clock_of_test());
  }

  void expect_rest_without_the_last(platform::Device* device, World& world);

  // Two inputs, two places in the output and two sizes, interleaved, every byte looked at, and
  // again with other values. With `swapped` the ranks share their inputs in another order: what was
  // kept of the last ones would gather the wrong pieces. `prepared`: all but the smaller size.
  void expect_gathers(platform::Device& device, Communicator& communicator, bool swapped = false,
                      bool prepared = false) {
    const auto size = static_cast<std::uint64_t>(communicator.size());
    const auto memory = device.allocate_device(4 * kPiece, MemoryPurpose::kInputSlot).value();
    const auto outputs = device.allocate_device(2 * kPiece * size, MemoryPurpose::kSlot).value();
    std::vector<DeviceSpan> inputs{memory->span().subspan(0, kPiece),
                                   memory->span().subspan(kPiece, kPiece)};
    if (swapped && communicator.rank() % 2 == 1) {
      std::swap(inputs[0], inputs[1]);
    }
    ASSERT_TRUE(communicator.share_inputs(device, inputs, in(kLong)).ok());
    std::vector<PieceGather> gathers;
    for (const std::uint64_t bytes : {kPiece, kSmallPiece}) {
      for (const auto& input : inputs) {
        for (const std::uint64_t place : {std::uint64_t{0}, kPiece * size}) {
          gathers.push_back(
              {input.subspan(0, bytes), outputs->span().subspan(place, bytes * size)});
        }
      }
    }
    if (prepared) {
      const std::vector<PieceGather> most(gathers.begin(), gathers.begin() + 4);
      ASSERT_TRUE(communicator.prepare_gathers(most).ok());
      ASSERT_TRUE(communicator.prepare_gathers(most).ok()) << "again is once";
    }
    for (std::uint64_t turn = 0; turn < 3; ++turn) {
      for (std::size_t g = 0; g < gathers.size(); ++g) {
        expect_gather(device, communicator, gathers[g], turn * gathers.size() + g);
      }
    }
    communicator.forget_inputs(inputs, in(kLong));
  }

  // `shift` moves the values, so that bytes of another gather are wrong ones.
  void expect_gather(platform::Device& device, Communicator& communicator,
                     const PieceGather& gather, std::uint64_t shift) {
    const auto rank = static_cast<std::uint64_t>(communicator.rank());
    const auto bytes = gather.input.bytes;
    const auto host = device.allocate_pinned(gather.output.bytes, MemoryPurpose::kStaging).value();
    for (std::uint64_t i = 0; i < bytes; ++i) {
      host->span()[i] = value_of(rank, i + shift);
    }
    device.copy_to_device(StreamKind::kComm, gather.input, host->span().first(bytes), kLabel);
    communicator.all_gather(device, StreamKind::kComm, gather.input, gather.output, kLabel);
    device.copy_to_host(StreamKind::kComm, host->span(), gather.output, kLabel);
    const auto status = device.synchronize(in(kLong));
    ASSERT_TRUE(status.ok()) << status.refusal().message();
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < gather.output.bytes; ++i) {
      wrong += host->span()[i] != value_of(i / bytes, i % bytes + shift) ? 1U : 0U;
    }
    EXPECT_EQ(wrong, 0U) << "with pieces of " << bytes << " bytes, gather " << shift;
  }
};

TEST_F(NcclTest, Gathers_PlaceEveryRank) {
  if (!have_devices(false)) {
    GTEST_SKIP() << "fewer CUDA devices than ranks";
  }
  const auto device = make_device();
  auto world = nccl_world(*device);
  auto made = world.make_communicator(all_ranks(), "weights", in(kLong), kLong);
  ASSERT_TRUE(made.ok()) << made.refusal().message();
  expect_gathers(*device, **made);
}

TEST_F(NcclTest, CopyEngines_PlaceEveryRankAgainAndAgain) {
  if (!have_devices(true)) {
    GTEST_SKIP() << "no CUDA device can be used on this machine";
  }
  const auto device = make_device();
  CopyEngineWorld world(*mpi_world());
  auto made = world.make_communicator(all_ranks(), "weights", in(kLong), kLong);
  ASSERT_TRUE(made.ok()) << made.refusal().message();
  for (const bool prepared : {true, false}) {
    for (const bool swapped : {false, true, false}) {
      expect_gathers(*device, **made, swapped, prepared);
    }
  }
}

TEST_F(NcclTest, CopyEngines_InputThatWasNotShared_IsNamed) {
  if (!have_devices(true)) {
    GTEST_SKIP() << "no CUDA device can be used on this machine";
  }
  const auto device = make_device();
  CopyEngineWorld world(*mpi_world());
  auto made = world.make_communicator(all_ranks(), "unshared", in(kLong), kLong);
  ASSERT_TRUE(made.ok()) << made.refusal().message();
  const auto size = static_cast<std::uint64_t>(mpi_world()->size());
  const auto input = device->allocate_device(256, MemoryPurpose::kInputSlot).value();
  const auto output = device->allocate_device(256 * size, MemoryPurpose::kSlot).value();
  ASSERT_TRUE(mpi_world()->control().exchange("ready", "", in(kLong)).ok());
  (*made)->all_gather(*device, StreamKind::kComm, input->span(), output->span(), kLabel);
  ASSERT_TRUE(device->failure().has_value());
  EXPECT_NE(device->failure()->what.find("not shared"), std::string::npos);
  EXPECT_TRUE(mpi_world()->control().exchange("unshared", "", in(kLong)).ok());
  mpi_world()->reset_failures();
}

TEST_F(NcclTest, StagedGathers_PlaceEveryRankOnSharedDevices) {
  if (!have_devices(true)) {
    GTEST_SKIP() << "no CUDA device can be used on this machine";
  }
  const auto device = make_device();
  auto made = mpi_world()->make_communicator(all_ranks(), "staged", in(kLong), kLong);
  ASSERT_TRUE(made.ok()) << made.refusal().message();
  StagedCommunicator staged(std::move(*made));
  expect_gathers(*device, staged);
}

TEST_F(NcclTest, AbortedCommunicator_FailsTheNextGatherByName) {
  if (!have_devices(false)) {
    GTEST_SKIP() << "fewer CUDA devices than ranks";
  }
  const auto device = make_device();
  auto world = nccl_world(*device);
  auto made = world.make_communicator(all_ranks(), "aborted", in(kLong), kLong);
  ASSERT_TRUE(made.ok()) << made.refusal().message();
  const auto input = device->allocate_device(256, MemoryPurpose::kInputSlot).value();
  const auto size = static_cast<std::uint64_t>(mpi_world()->size());
  const auto output = device->allocate_device(256 * size, MemoryPurpose::kSlot).value();
  // A rank's failure ends the waits of the others: all are through with theirs.
  ASSERT_TRUE(mpi_world()->control().exchange("ready", "", in(kLong)).ok());
  (*made)->abort();
  (*made)->all_gather(*device, StreamKind::kComm, input->span(), output->span(), kLabel);
  EXPECT_EQ(device->failure()->code, codes::kCollectiveFailed);
  EXPECT_TRUE(mpi_world()->control().exchange("aborted", "", in(kLong)).ok());
  mpi_world()->reset_failures();
}

// The last rank stays away from one gather; the others leave by their deadline, and the abort lets
// their device come to rest.
void NcclTest::expect_rest_without_the_last(platform::Device* device, World& world) {
  auto made = world.make_communicator(all_ranks(), "never", in(kLong), kLong);
  ASSERT_TRUE(made.ok()) << made.refusal().message();
  const auto size = static_cast<std::uint64_t>(mpi_world()->size());
  const auto input = device->allocate_device(kMiB, MemoryPurpose::kInputSlot).value();
  const auto output = device->allocate_device(kMiB * size, MemoryPurpose::kSlot).value();
  const auto event = device->create_event();
  ASSERT_TRUE((*made)->share_inputs(*device, {input->span()}, in(kLong)).ok());
  if (mpi_world()->rank() + 1 < mpi_world()->size()) {
    (*made)->all_gather(*device, StreamKind::kComm, input->span(), output->span(), kLabel);
    device->record(event, StreamKind::kComm, kLabel);
    EXPECT_EQ(device->wait_host(event, in(2 * kSecond), kLabel).refusal().code,
              codes::kDeadlineExceeded);
    (*made)->abort();
    const auto rests = in(kLong);
    while (!device->query(event) && !rests.expired(clock_of_test().now())) {
      clock_of_test().sleep(kMillisecond);
    }
    EXPECT_TRUE(device->query(event)) << "the aborted gather still runs";
  }
  (*made)->forget_inputs({input->span()}, in(kLong));
  EXPECT_TRUE(mpi_world()->control().exchange("never", "", in(kLong)).ok());
  mpi_world()->reset_failures();
}

// The last rank makes its control group and stays away from the rest.
TEST_F(NcclTest, RankThatNeverStarts_EndsTheOthersAndMemoryIsFreed) {
  if (!have_devices(false) || mpi_world()->size() == 1) {
    GTEST_SKIP() << "needs two ranks with a CUDA device each";
  }
  const auto device = make_device();
  auto world = nccl_world(*device);
  if (mpi_world()->rank() + 1 < mpi_world()->size()) {
    const auto made = world.make_communicator(all_ranks(), "late", in(3 * kSecond), kLong);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.refusal().code, codes::kDeadlineExceeded);
  } else {
    static_cast<void>(
        mpi_world()->make_control_group(all_ranks(), "late (NCCL)", in(3 * kSecond)).ok());
  }
  EXPECT_TRUE(mpi_world()->control().exchange("late", "", in(kLong)).ok());
  mpi_world()->reset_failures();
  EXPECT_TRUE(device->allocate_device(kMiB, MemoryPurpose::kSlot).ok());
}

TEST_F(NcclTest, RankThatNeverJoinsAGather_EndsTheOthersAndTheDeviceRests) {
  if (!have_devices(false) || mpi_world()->size() == 1) {
    GTEST_SKIP() << "needs two ranks with a CUDA device each";
  }
  const auto device = make_device();
  auto nccl = nccl_world(*device);
  expect_rest_without_the_last(device.get(), nccl);
}

TEST_F(NcclTest, CopyEngines_RankThatNeverJoinsAGather_EndsTheOthersAndTheDeviceRests) {
  if (!have_devices(true) || mpi_world()->size() == 1) {
    GTEST_SKIP() << "needs a CUDA device and two ranks";
  }
  const auto device = make_device();
  CopyEngineWorld copy_engines(*mpi_world());
  expect_rest_without_the_last(device.get(), copy_engines);
}

}  // namespace
}  // namespace dlo::comm
