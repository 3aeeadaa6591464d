// Goal: removing or moving any one event wait or event record of the hot path, or one byte of a
// copy, is found by exploration within a stated number of seeds.
// Method: decorators between the backend and the simulated device, one mutant a test.
#include <gtest/gtest.h>

#include "tests/mutants/exploration_proof.h"
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

engine::DeviceDecorator mutated(const Mutation& mutation) {
  return [mutation](std::unique_ptr<platform::Device> device, int /*rank*/) {
    return std::make_unique<test_support::MutantDevice>(std::move(device), mutation);
  };
}

engine::DeviceDecorator moved(Site site, StreamKind stream) {
  return [site, stream](std::unique_ptr<platform::Device> device, int /*rank*/) {
    return std::make_unique<test_support::MovingDevice>(std::move(device), site, stream);
  };
}

std::string name_of(std::string_view what, Site site) {
  return std::string(what) + " " + std::string(platform::site_name(site));
}

class DroppedWait : public testing::TestWithParam<ProtocolGuard> {};
class DroppedRecord : public testing::TestWithParam<ProtocolGuard> {};
class MovedSite : public testing::TestWithParam<ProtocolGuard> {};

TEST_P(DroppedWait, Exploration_FindsIt) {
  const Site site = GetParam().site;
  expect_killed(name_of("drop", site), mutated(Mutation{at_site(site), {}, {}}));
}

TEST_P(DroppedRecord, Exploration_FindsIt) {
  const Site site = GetParam().site;
  expect_killed(name_of("drop", site), mutated(Mutation{{}, at_site(site), {}}));
}

TEST_P(MovedSite, Exploration_FindsIt) {
  const auto& guard = GetParam();
  expect_killed(
      name_of("move", guard.site) + " to " + std::string(platform::stream_name(guard.moved_to)),
      moved(guard.site, guard.moved_to));
}

TEST(CorruptedCopy, Exploration_FindsIt) {
  expect_killed("one wrong byte in a copy", mutated(Mutation{{}, {}, at_site(Site::kH2d)}));
}

// Their one wait has no ring of its own.
TEST(LeadingBlocks, ReadyWaitDropped_ExplorationFindsIt) {
  const auto of_the_group = [](const OpLabel& label) {
    return label.site == Site::kReadyWait && label.ring < 0;
  };
  expect_killed("drop ready_wait of leading blocks", mutated(Mutation{of_the_group, {}, {}}));
}

// A child of two blocks before a ring of five: its loads are issued at the end of the parent's
// walk, the parent's first ones at the end of its own.
engine::SimulatedCase chained_case(bool use_allgather) {
  engine::SimulatedCase simulated;
  simulated.ring_blocks = {5, 2};
  simulated.children = true;
  simulated.use_allgather = use_allgather;
  simulated.ranks = use_allgather ? 2 : 1;
  return simulated;
}

TEST(ChainedLoads, FreeWaitDropped_ExplorationFindsIt) {
  const auto of_the_child = [](const OpLabel& label) {
    return label.site == Site::kFreeWait && label.ring == 1;
  };
  const auto of_the_head = [](const OpLabel& label) {
    return label.site == Site::kFreeWait && label.ring == 0 && label.block < 2;
  };
  for (const bool use_allgather : {false, true}) {
    const auto simulated = chained_case(use_allgather);
    const std::string how = use_allgather ? " (all_gather)" : " (rank_local)";
    expect_killed("drop free_wait of a child's loads" + how,
                  mutated(Mutation{of_the_child, {}, {}}), simulated);
    expect_killed("drop free_wait of loads behind a child" + how,
                  mutated(Mutation{of_the_head, {}, {}}), simulated);
  }
}

INSTANTIATE_TEST_SUITE_P(Waits, DroppedWait, testing::ValuesIn(test_support::kGuardWaits));
INSTANTIATE_TEST_SUITE_P(Records, DroppedRecord, testing::ValuesIn(test_support::kGuardRecords));
INSTANTIATE_TEST_SUITE_P(Moves, MovedSite, testing::ValuesIn(test_support::all_guards()));

}  // namespace
}  // namespace dlo::test
