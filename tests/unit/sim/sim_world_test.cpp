// Goal: simulated collectives deliver in group order, meet only when all members arrive, name every
// mismatch at once, and a peer that never joins is a deadlock with a readable wait graph.
// Method: small gathers over 2 to 8 ranks, many seeds.
#include "comm/sim/sim_world.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace dlo::comm {
namespace {

using platform::EventId;
using platform::MemoryPurpose;
using platform::OpLabel;
using platform::Site;
using platform::StreamKind;
using platform::sim::ExploringCosts;
using platform::sim::SimDevice;
using platform::sim::SimKernel;
using platform::sim::SimOutcome;

constexpr std::uint64_t kPieceBytes = 256;

std::vector<int> all_ranks(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

Deadline soon(SimDevice& device) {
  return Deadline::after(device.clock().now(), 10 * kSecond);
}

// Runs body(device, world) on `ranks` simulated ranks.
SimOutcome simulate(std::uint64_t seed, int ranks, bool deadlines_expected,
                    const std::function<void(SimDevice&, World&)>& body) {
  SimKernel kernel({.seed = seed, .rank_count = ranks, .deadlines_expected = deadlines_expected});
  const ExploringCosts costs(seed);
  SimFabric fabric(kernel, ranks);
  return kernel.run([&](int rank) {
    const auto world = make_sim_world(fabric, rank);
    SimDevice device(kernel, {.rank = rank, .budgets = {}, .costs = &costs},
                     world->failure_signal());
    fabric.attach(rank, &device);
    body(device, *world);
    fabric.attach(rank, nullptr);
  });
}

void fill(DeviceSpan span, int value) {
  std::memset(span.data, value, span.bytes);
}

TEST(SimWorld, GatherOverOneToEightRanks_EveryPieceAtItsRanksPlace) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (std::uint64_t seed = 0; seed < 25; ++seed) {
      const auto outcome = simulate(seed, ranks, false, [ranks](SimDevice& device, World& world) {
        const auto comm =
            world.make_communicator(all_ranks(ranks), "weights", soon(device), kSecond).value();
        const auto input = device.allocate_device(kPieceBytes, MemoryPurpose::kInputSlot).value();
        const auto output = device
                                .allocate_device(kPieceBytes * static_cast<std::uint64_t>(ranks),
                                                 MemoryPurpose::kSlot)
                                .value();
        fill(input->span(), world.rank() + 1);
        comm->all_gather(device, StreamKind::kComm, input->span(), output->span(),
                         {.site = Site::kGather});
        ASSERT_TRUE(device.synchronize(soon(device)).ok());
        for (int r = 0; r < ranks; ++r) {
          const auto at = static_cast<std::uint64_t>(r) * kPieceBytes;
          ASSERT_EQ(output->span().data[at], std::byte(static_cast<unsigned char>(r + 1)));
        }
      });
      ASSERT_EQ(outcome.violation, "") << ranks << " ranks, seed " << seed;
    }
  }
}

TEST(SimWorld, OneRankGathersAnotherBlock_ViolationNamesBoth) {
  const auto outcome = simulate(1, 2, true, [](SimDevice& device, World& world) {
    const auto comm =
        world.make_communicator(all_ranks(2), "weights", soon(device), kSecond).value();
    const auto input = device.allocate_device(kPieceBytes, MemoryPurpose::kInputSlot).value();
    const auto output = device.allocate_device(2 * kPieceBytes, MemoryPurpose::kSlot).value();
    comm->all_gather(device, StreamKind::kComm, input->span(), output->span(),
                     {.site = Site::kGather, .block = world.rank()});
    const auto status = device.synchronize(soon(device));
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.refusal().code, "schedule_mismatch");
    device.clock().sleep(kSecond);
  });
  EXPECT_NE(outcome.violation.find("block 0"), std::string::npos) << outcome.violation;
  EXPECT_NE(outcome.violation.find("block 1"), std::string::npos) << outcome.violation;
}

TEST(SimWorld, PeerNeverJoins_DeadlockNamesTheWaiter) {
  const auto outcome = simulate(1, 2, false, [](SimDevice& device, World& world) {
    const auto comm =
        world.make_communicator(all_ranks(2), "weights", soon(device), kSecond).value();
    if (world.rank() == 1) {
      return;
    }
    const auto input = device.allocate_device(kPieceBytes, MemoryPurpose::kInputSlot).value();
    const auto output = device.allocate_device(2 * kPieceBytes, MemoryPurpose::kSlot).value();
    comm->all_gather(device, StreamKind::kComm, input->span(), output->span(),
                     {.site = Site::kGather, .block = 5});
    const auto status = device.synchronize(soon(device));
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.refusal().code, "deadline_exceeded");
  });
  EXPECT_NE(outcome.violation.find("deadlock"), std::string::npos) << outcome.violation;
  EXPECT_NE(outcome.violation.find("gather block 5"), std::string::npos) << outcome.violation;
  EXPECT_NE(outcome.violation.find("rank 1: ended"), std::string::npos) << outcome.violation;
}

TEST(SimWorld, PeerFails_WaitingRankLeavesWithItsCode) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto outcome = simulate(seed, 2, true, [](SimDevice& device, World& world) {
      const auto comm =
          world.make_communicator(all_ranks(2), "weights", soon(device), kSecond).value();
      if (world.rank() == 1) {
        world.failure_signal().raise(Failure{"pin_failed", 1, -1, "pin", "no pinned memory"});
        return;
      }
      const auto input = device.allocate_device(kPieceBytes, MemoryPurpose::kInputSlot).value();
      const auto output = device.allocate_device(2 * kPieceBytes, MemoryPurpose::kSlot).value();
      comm->all_gather(device, StreamKind::kComm, input->span(), output->span(),
                       {.site = Site::kGather});
      const auto status = device.synchronize(soon(device));
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.refusal().code, "pin_failed");
      device.clock().sleep(kMillisecond);
    });
    ASSERT_EQ(outcome.violation, "") << "seed " << seed;
  }
}

TEST(SimWorld, ExchangeOverFiveRanks_TextsInRankOrder) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto outcome = simulate(seed, 5, false, [](SimDevice& device, World& world) {
      for (int round = 0; round < 3; ++round) {
        const auto texts = world.control().exchange(
            "vote", std::to_string(10 * round + world.rank()), soon(device));
        ASSERT_TRUE(texts.ok());
        for (int r = 0; r < 5; ++r) {
          ASSERT_EQ((*texts)[static_cast<std::size_t>(r)], std::to_string(10 * round + r));
        }
      }
    });
    ASSERT_EQ(outcome.violation, "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace dlo::comm
