// Goal: enable() prepares without touching the model, commits only after a unanimous yes, and rolls
// back under the first refusal's code (I6, I10).
// Method: one rank on a recording device; the other members of its group are scripted.
#include <gtest/gtest.h>

#include "platform/forwarding_device.h"
#include "tests/support/slow_tensors.h"
#include "tests/unit/backend/backend_fixture.h"

namespace dlo::backend {
namespace {

using platform::MemoryPurpose;
using platform::Site;
using test::BackendFixture;

void expect_nothing_swapped(const BackendFixture& fixture) {
  EXPECT_TRUE(fixture.model.untouched());
  EXPECT_EQ(fixture.bytes_in_use(), 0U);
  EXPECT_EQ(fixture.backend->observer(0), nullptr);
  for (const auto& op : fixture.device.log()) {
    EXPECT_NE(op.label.site, Site::kH2d) << "primed before the vote";
  }
}

TEST(Enable, RankLocal_PinsExactlyThePlanInOneArena) {
  BackendFixture fixture(test::rank_local_config());
  ASSERT_TRUE(fixture.backend->enable().ok());
  const auto& memory = fixture.backend->memory_plan();
  EXPECT_EQ(fixture.device.pinned_memory().peak_bytes, memory.pinned_bytes());
  EXPECT_EQ(fixture.device.device_memory(MemoryPurpose::kSlot).now_bytes,
            memory.slot_count * memory.slot_bytes);
  EXPECT_EQ(fixture.device.device_memory().now_bytes, memory.device_limit_bytes());
  EXPECT_EQ(fixture.tensors.held_bytes(), 0U) << "every loader tensor was let go";
  EXPECT_EQ(fixture.backend->steps(), (std::vector<std::string>{"prepare", "commit"}));
}

TEST(Enable, AllGather_VotesAndAgreesBeforeItCommits) {
  BackendFixture fixture(test::all_gather_config());
  ASSERT_TRUE(fixture.backend->enable().ok());
  EXPECT_EQ(fixture.backend->steps(),
            (std::vector<std::string>{"prepare", "vote", "agree", "share inputs", "commit"}));
  EXPECT_EQ(fixture.group.operations,
            (std::vector<std::string>{"vote on enable", "schedule", "inputs"}));
}

TEST(Enable, AllGather_PreparesEveryGatherThatForwardsIssue) {
  BackendFixture fixture(test::all_gather_config());
  ASSERT_TRUE(fixture.backend->enable().ok());
  for (int forward = 0; forward < 3; ++forward) {
    fixture.model.run(fixture.device, 0, fixture.backend->observer(0));
    fixture.model.run(fixture.device, 1, fixture.backend->observer(1));
  }
  EXPECT_GT(fixture.communicator.gather_count, 7U);
  EXPECT_EQ(fixture.communicator.unprepared_count, 0U);
}

TEST(Enable, Resident_BindsEveryBlockOnceAndHasNoObserver) {
  BackendFixture fixture(config::OffloadConfig{});
  ASSERT_TRUE(fixture.backend->enable().ok());
  EXPECT_EQ(fixture.backend->observer(0), nullptr);
  EXPECT_EQ(fixture.backend->observer(1), nullptr);
  EXPECT_EQ(fixture.model.binding(0, 0).place_count(), 1U);
  fixture.model.run(fixture.device, 0, nullptr);
  fixture.model.run(fixture.device, 1, nullptr);
  EXPECT_TRUE(fixture.model.findings().clean()) << fixture.model.findings().first;
  EXPECT_EQ(fixture.backend->planned_traffic({1, 1}), Traffic{});
}

TEST(Enable, StreamedBlocks_AreAtTheirPlaceholdersWithOnePlaceASlot) {
  BackendFixture fixture(test::rank_local_config());
  ASSERT_TRUE(fixture.backend->enable().ok());
  EXPECT_TRUE(fixture.model.binding(0, 1).at_placeholder());
  EXPECT_EQ(fixture.model.binding(0, 1).place_count(), fixture.backend->memory_plan().slot_count);
  EXPECT_THROW(fixture.model.run(fixture.device, 0, nullptr), RunError);
}

TEST(Enable, EveryResidentSpan_Is256ByteAligned) {
  BackendFixture fixture(config::OffloadConfig{});
  ASSERT_TRUE(fixture.backend->enable().ok());
  const auto& place = fixture.model.binding(0, 0).current();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(place.span.data) % kTensorAlignmentBytes, 0U);
}

TEST(Enable, EachAllocationRefusedInTurn_RollsBackUnderItsCode) {
  for (const auto& config : {test::rank_local_config(), config::OffloadConfig{}}) {
    std::uint32_t nth = 1;
    for (;; ++nth) {
      ASSERT_LT(nth, 100U);
      BackendFixture fixture(config);
      fixture.device.refuse_allocation(nth);
      const auto status = fixture.backend->enable();
      if (status.ok()) {
        break;
      }
      const auto& code = status.refusal().code;
      EXPECT_TRUE(code == codes::kPinFailed || code == codes::kDeviceOutOfMemory ||
                  code == codes::kHostOutOfMemory)
          << code;
      expect_nothing_swapped(fixture);
    }
    EXPECT_GT(nth, 3U) << "the loop met no allocation";
  }
}

TEST(Enable, PeerRefuses_EndsWithThePeersCode) {
  const auto refusal = [](std::string_view, std::string_view) -> Result<std::string> {
    return std::string(
        R"({"code": "pin_failed", "what": "no memory", "where": "host", "action": "none"})");
  };
  BackendFixture fixture(test::all_gather_config(), refusal);
  const auto status = fixture.backend->enable();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.refusal().code, codes::kPinFailed);
  EXPECT_NE(status.refusal().where.find("rank 1"), std::string::npos) << status.refusal().where;
  expect_nothing_swapped(fixture);
  EXPECT_FALSE(fixture.signal->poll()) << "a unanimous refusal is no failure";
}

TEST(Enable, PeerHasAnotherSchedule_IsScheduleMismatch) {
  const auto other = [](std::string_view operation, std::string_view mine) -> Result<std::string> {
    return operation == "schedule" ? std::string("another") : std::string(mine);
  };
  BackendFixture fixture(test::all_gather_config(), other);
  const auto status = fixture.backend->enable();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.refusal().code, codes::kScheduleMismatch);
  expect_nothing_swapped(fixture);
}

TEST(Enable, PeerNeverAnswers_EndsByDeadlineAndIsRaised) {
  const auto never = [](std::string_view operation, std::string_view) -> Result<std::string> {
    return refuse(codes::kDeadlineExceeded, "rank 1 did not answer", std::string(operation),
                  "none");
  };
  BackendFixture fixture(test::all_gather_config(), never);
  const auto status = fixture.backend->enable();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.refusal().code, codes::kDeadlineExceeded);
  expect_nothing_swapped(fixture);
  const auto raised = fixture.signal->poll();
  ASSERT_TRUE(raised.has_value());
  EXPECT_EQ(raised->code, codes::kDeadlineExceeded);
}

TEST(Enable, TensorOfAnotherDtype_IsRefusedByName) {
  auto shape = synthetic::uniform_shape(1, 2, 64);
  synthetic::SyntheticModel loaded(shape);
  synthetic::SyntheticTensors tensors(loaded.table(), loaded.seed());
  shape.rings[0].blocks[1][0].dtype = DType::kI8;
  synthetic::SyntheticModel model(shape);
  test::RecordingDevice device;
  const auto signal = make_local_failure_signal();
  const auto context = make_rank_context(0, 1, *signal);
  const auto config = test::rank_local_config();
  OffloadBackend backend(BackendRequest{.config = config,
                                        .table = model.table(),
                                        .host_tensors = tensors,
                                        .device = device,
                                        .context = context});
  const auto status = backend.enable();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.refusal().code, codes::kDtypeMismatch);
  EXPECT_EQ(status.refusal().where, "ring0.blocks.1.0");
  EXPECT_TRUE(model.untouched());
}

TEST(Enable, ConfigurationAndGroupDisagree_IsTopologyMismatch) {
  auto config = test::all_gather_config();
  config.dp_size = 3;  // the scripted group has two
  BackendFixture fixture(config);
  const auto status = fixture.backend->enable();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.refusal().code, codes::kTopologyMismatch);
}

TEST(Enable, CalledTwice_IsALogicError) {
  BackendFixture fixture(test::rank_local_config());
  ASSERT_TRUE(fixture.backend->enable().ok());
  EXPECT_THROW(static_cast<void>(fixture.backend->enable()), LogicError);
}

// Ends a wait whose deadline has passed, as a device does that is still busy.
class PunctualDevice final : public platform::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  [[nodiscard]] Status synchronize(Deadline deadline) override {
    return deadline.expired(clock().now())
               ? refuse(codes::kDeadlineExceeded, "told to be punctual", "device", "none")
               : ForwardingDevice::synchronize(deadline);
  }
};

TEST(Enable, PlacementThatTakesLongerThanOneWaitMay_IsNoTimeout) {
  PunctualDevice device(std::make_unique<test::RecordingDevice>());
  const synthetic::SyntheticModel model(synthetic::uniform_shape(1, 8, 512));
  synthetic::SyntheticTensors tensors(model.table(), model.seed());
  test::SlowTensors slow(tensors, device.clock(), kSecond / 2);
  const auto signal = make_local_failure_signal();
  const auto context = make_rank_context(0, 1, *signal);
  const config::OffloadConfig config;
  OffloadBackend backend(BackendRequest{.config = config,
                                        .table = model.table(),
                                        .host_tensors = slow,
                                        .device = device,
                                        .context = context,
                                        .timeout = kSecond});
  const auto begin = device.clock().now();
  const auto status = backend.enable();
  EXPECT_TRUE(status.ok()) << status.refusal().message();
  EXPECT_GT(device.clock().now() - begin, 2 * kSecond);
}

}  // namespace
}  // namespace dlo::backend
