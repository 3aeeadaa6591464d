// Goal: a throughput run keeps all arms alive in one process, gives samples of every round, the
// same bytes from every arm, ledgers that equal their plans, block times, a calibration and a
// prediction on every rank; its refusals have names. No figure is held against a time.
// Method: the diffusers-written wan_tiny checkpoint on ranks that are threads of this process.
#include "engine/throughput_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/codes.h"
#include "comm/forwarding_communicator.h"
#include "comm/forwarding_world.h"
#include "engine/run_report_json.h"
#include "engine/throughput_json.h"
#include "engine/throughput_rules.h"
#include "host_weights/seeded_checkpoint/seeded_checkpoint.h"
#include "platform/cpu/thread_executor.h"
#include "platform/fault/faulting_device.h"
#include "platform/posix/posix_file_system.h"
#include "tests/support/engine_ranks.h"
#include "tests/support/tiny_run.h"

namespace dlo::engine {
namespace {

config::OffloadOptions streaming(bool use_allgather) {
  config::OffloadOptions options;
  options.enable_distributed_layerwise_offload = true;
  options.dlo_use_allgather = use_allgather;
  options.dlo_chunk_bytes = 4096;
  return options;
}

config::OffloadOptions from_private_memory(config::OffloadOptions options) {
  options.dlo_checkpoint_mmap = false;
  return options;
}

RunRequest throughput_request(std::int64_t dp) {
  auto request = test_support::tiny_run(DLO_GOLDEN_CHECKPOINT, dp);
  request.requests.count = static_cast<std::uint32_t>(dp);
  ThroughputSpec spec;
  spec.arms = {{"resident", {}},
               {"rank_local", from_private_memory(streaming(false))},
               {"all_gather", streaming(true)},
               {"resident_again", {}},
               {"staged", streaming(false)}};
  spec.rounds = 3;
  spec.forwards = 2;
  spec.traced_forwards = 2;
  spec.check_every_forward = 5;
  spec.gemm_size = 16;
  request.throughput = spec;
  return request;
}

using test_support::run_on_threads;

// Notes whether an abort came behind the failure that it belongs to.
struct AbortNotes {
  std::atomic<int> behind_failure = 0;
  std::atomic<int> before_failure = 0;
};

class AbortNotingCommunicator : public comm::ForwardingCommunicator {
 public:
  AbortNotingCommunicator(std::unique_ptr<comm::Communicator> inner, FailureSignal& signal,
                          AbortNotes& notes)
      : ForwardingCommunicator(std::move(inner)), signal_(signal), notes_(notes) {}
  void abort() noexcept override {
    ++(signal_.poll() ? notes_.behind_failure : notes_.before_failure);
    inner().abort();
  }

 private:
  FailureSignal& signal_;
  AbortNotes& notes_;
};

class AbortNotingWorld : public comm::ForwardingWorld {
 public:
  AbortNotingWorld(comm::World& inner, AbortNotes& notes) : ForwardingWorld(inner), notes_(notes) {}
  [[nodiscard]] Result<std::unique_ptr<comm::Communicator>> make_communicator(
      const std::vector<int>& world_ranks, std::string_view purpose, Deadline deadline,
      Nanoseconds collective_timeout) override {
    auto made = inner().make_communicator(world_ranks, purpose, deadline, collective_timeout);
    if (!made.ok()) {
      return made;
    }
    return std::unique_ptr<comm::Communicator>(std::make_unique<AbortNotingCommunicator>(
        std::move(made).value(), failure_signal(), notes_));
  }

 private:
  AbortNotes& notes_;
};

// Each launch takes the launching thread a millisecond: forwards are bound by the host.
class SlowLaunchDevice : public platform::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  void launch(platform::StreamKind stream, platform::StreamTask task,
              const platform::OpLabel& label) override {
    clock().sleep(kMillisecond);
    inner().launch(stream, std::move(task), label);
  }
};

// Its books by purpose, which are read when a run is measured, cannot be read.
class UnreadableBooksDevice : public platform::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  [[nodiscard]] platform::MemoryUse device_memory() const override {
    return ForwardingDevice::device_memory();
  }
  [[nodiscard]] platform::MemoryUse device_memory(platform::MemoryPurpose) const override {
    throw std::runtime_error("the books are gone");
  }
};

void expect_whole(const ArmMeasurement& arm, std::size_t block_count) {
  ASSERT_EQ(arm.forward_ms.size(), 3U) << arm.name;
  for (const auto& round : arm.forward_ms) {
    EXPECT_EQ(round.size(), 2U) << arm.name;
  }
  EXPECT_EQ(arm.different_forwards, 0U) << arm.name;
  EXPECT_TRUE(arm.rank.traffic.matches_plan()) << arm.name << ": " << arm.rank.traffic.h2d_bytes
                                               << " of " << arm.rank.traffic.h2d_bytes_planned;
  EXPECT_LE(arm.rank.owned.device_now, arm.rank.owned.device_limit) << arm.name;
  EXPECT_LE(arm.rank.owned.host_private_now, arm.rank.owned.host_private_limit) << arm.name;
  ASSERT_TRUE(arm.blocks.has_value()) << arm.name;
  EXPECT_EQ(arm.blocks->forwards, 2U);
  EXPECT_EQ(arm.blocks->unmarked, 0U) << arm.name;
  EXPECT_EQ(arm.blocks->exposed_us.has_value(),
            arm.rank.effective.transfer != contracts::Transfer::kResident);
  EXPECT_EQ(arm.blocks->h2d_bytes, static_cast<double>(arm.h2d_bytes_per_forward)) << arm.name;
  EXPECT_GE(arm.trace.rows.size(), block_count);
  EXPECT_TRUE(arm.predicted_ms.has_value()) << arm.prediction_note;
  EXPECT_EQ(arm.counted_forwards, 3U * (2 + 2));
}

TEST(ThroughputRun, TwoRanks_MeasureEveryArmAlike) {
  const auto report = run_on_threads(2, throughput_request(2)).front();
  ASSERT_EQ(report.outcome, Outcome::kRuns) << report.message;
  ASSERT_EQ(report.ranks.size(), 2U);
  for (const auto& rank : report.ranks) {
    ASSERT_NE(rank.throughput, nullptr);
    const auto& arms = rank.throughput->arms;
    ASSERT_EQ(arms.size(), 5U);
    for (const auto& arm : arms) {
      expect_whole(arm, 2);
      EXPECT_EQ(arm.output_sha256, arms.front().output_sha256);
    }
    EXPECT_EQ(arms[0].compared_forwards, 3U + 5U);
    EXPECT_EQ(arms[3].compared_forwards, 3U);  // the same instance, checked once
    EXPECT_EQ(arms[1].rank.effective.transfer, contracts::Transfer::kRankLocal);
    EXPECT_EQ(arms[2].rank.effective.transfer, contracts::Transfer::kAllGather);
    EXPECT_EQ(arms[2].rank.effective.backing, contracts::Backing::kCheckpointMmap);
    EXPECT_EQ(arms[4].rank.effective.transfer, contracts::Transfer::kStaged);
    EXPECT_GT(arms[2].gather_bytes_per_forward, 0U);
    EXPECT_GT(arms[1].weight_bytes, 0U);
    EXPECT_GE(arms[1].h2d_bytes_per_forward, arms[1].weight_bytes);
    for (const auto* name : {"h2d_alone_bytes_per_s", "h2d_together_bytes_per_s", "gather_ms",
                             "gather_bytes_per_s", "gemm_alone_ms", "gemm_loss_beside_h2d_ms",
                             "gemm_loss_beside_gather_ms", "gemm_loss_beside_shard_ms", "event_ns",
                             "copy_ns", "gather_ns", "pack_copy_bytes_per_s"}) {
      EXPECT_NE(rank.throughput->calibration.find(name), nullptr) << name;
    }
    // Before each round and behind the last one, the same on every rank.
    const auto& link = rank.throughput->calibration.link_bytes_per_s;
    EXPECT_EQ(link.size(), arms[0].forward_ms.size() + 1);
    EXPECT_EQ(link, report.ranks[0].throughput->calibration.link_bytes_per_s);
    EXPECT_GT(*std::min_element(link.begin(), link.end()), 0);
    EXPECT_EQ(rank.throughput->calibration.pack_copy_bytes_per_s.size(), link.size());
    EXPECT_GT(rank.throughput->calibration.pack_threads, 0U);
    EXPECT_EQ(rank.outputs.size(), 1U);
    EXPECT_TRUE(rank.traffic.matches_plan());
  }
  // Each replica has its own request.
  EXPECT_NE(report.ranks[0].outputs[0].sha256, report.ranks[1].outputs[0].sha256);
}

TEST(ThroughputRun, ModelWithAChildRing_CountsCopiesOfBothRings) {
  const auto folder = platform::Path(testing::TempDir()) / "dlo_throughput_child_ring";
  std::filesystem::remove_all(folder);
  platform::PosixFileSystem files;
  platform::ThreadExecutor executor(1);
  host_weights::SeededCheckpointOptions seeded;
  seeded.preset = "h3_cpu";
  seeded.blocks = 3;
  seeded.dtype = host_weights::StoredDType::kF32;
  seeded.out = folder;
  ASSERT_TRUE(host_weights::create_seeded_checkpoint(files, executor, seeded).ok());
  auto request = throughput_request(1);
  request.model.checkpoint = folder;
  auto& arms = request.throughput->arms;
  arms.erase(arms.begin() + 2, arms.begin() + 4);
  const auto report = run_on_threads(1, request).front();
  std::filesystem::remove_all(folder);
  ASSERT_EQ(report.outcome, Outcome::kRuns) << report.message;
  for (const auto& arm : report.ranks.front().throughput->arms) {
    EXPECT_TRUE(arm.rank.traffic.matches_plan()) << arm.name;
    ASSERT_TRUE(arm.blocks.has_value()) << arm.name;
    EXPECT_EQ(arm.blocks->unmarked, 0U) << arm.name;
    EXPECT_EQ(arm.rank.traffic.repairs, 0U) << arm.name;
    // Each block of both rings once, although they share the slots.
    EXPECT_EQ(arm.blocks->h2d_bytes, static_cast<double>(arm.h2d_bytes_per_forward)) << arm.name;
    if (arm.rank.effective.transfer != contracts::Transfer::kResident) {
      EXPECT_GE(arm.h2d_bytes_per_forward, arm.weight_bytes) << arm.name;
    }
    EXPECT_TRUE(arm.predicted_ms.has_value()) << arm.prediction_note;
  }
}

TEST(ThroughputRun, OneRank_WithoutCalibrationHasNoPrediction) {
  auto request = throughput_request(1);
  request.throughput->arms.resize(2);
  request.throughput->calibrate = false;
  request.throughput->traced_forwards = 0;
  const auto report = run_on_threads(1, request).front();
  ASSERT_EQ(report.outcome, Outcome::kRuns) << report.message;
  const auto& throughput = *report.ranks.front().throughput;
  EXPECT_TRUE(throughput.calibration.figures.empty());
  EXPECT_FALSE(throughput.arms[1].predicted_ms.has_value());
  EXPECT_EQ(throughput.arms[1].prediction_note, "not calibrated");
  EXPECT_FALSE(throughput.arms[1].blocks.has_value());
}

TEST(ThroughputRun, CopyThatFails_EndsEveryRankWithOneName) {
  platform::FaultPlan plan;
  plan.rules.push_back(
      {.call = platform::SeamCall::kCopyToDevice, .rank = 1, .nth = 200, .code = {}});
  platform::FaultInjector first(plan, 0);
  platform::FaultInjector second(plan, 1);
  AbortNotes notes;
  const auto reports = run_on_threads(
      2, throughput_request(2),
      {.device =
           [&](std::unique_ptr<platform::Device> device, int rank) {
             return std::make_unique<platform::FaultingDevice>(std::move(device),
                                                               rank == 0 ? first : second);
           },
       .world =
           [&](comm::World& world) { return std::make_unique<AbortNotingWorld>(world, notes); }});
  EXPECT_GE(notes.behind_failure, 2) << "each rank aborts its own gathers";
  EXPECT_EQ(notes.before_failure, 0);
  ASSERT_GE(second.strike_count(), 1U);
  EXPECT_EQ(reports[0].outcome, Outcome::kFailsClosed);
  EXPECT_EQ(reports[0].code, reports[1].code);
  for (const auto& rank : reports[0].ranks) {
    EXPECT_FALSE(rank.code.empty());
    EXPECT_EQ(rank.throughput, nullptr);
  }
}

TEST(ThroughputRun, HostBoundForwards_AreTimedWholeToTheLastOne) {
  auto request = throughput_request(1);
  request.throughput->arms.resize(1);
  request.throughput->calibrate = false;
  request.throughput->traced_forwards = 0;
  request.throughput->check_every_forward = 0;
  const auto report =
      run_on_threads(
          1, request,
          {.device = [](std::unique_ptr<platform::Device> device,
                        int) { return std::make_unique<SlowLaunchDevice>(std::move(device)); }})
          .front();
  ASSERT_EQ(report.outcome, Outcome::kRuns) << report.message;
  // Two blocks, and each sample holds the launches of one forward. A forward that nothing is
  // enqueued behind would end at once.
  for (const auto& round : report.ranks.front().throughput->arms.front().forward_ms) {
    ASSERT_EQ(round.size(), 2U);
    for (const double sample : round) {
      EXPECT_GE(sample, 2.0);
    }
  }
}

TEST(ThroughputRun, ExceptionOutsideAnArm_EndsEveryRankWithOneName) {
  const auto reports =
      run_on_threads(2, throughput_request(2),
                     {.device = [](std::unique_ptr<platform::Device> device,
                                   int rank) -> std::unique_ptr<platform::Device> {
                       if (rank == 0) {
                         return device;
                       }
                       return std::make_unique<UnreadableBooksDevice>(std::move(device));
                     }});
  for (const auto& report : reports) {
    EXPECT_EQ(report.outcome, Outcome::kFailsClosed);
    EXPECT_EQ(report.code, codes::kInternal);
    EXPECT_NE(report.message.find("the books are gone"), std::string::npos) << report.message;
  }
  ASSERT_EQ(reports[0].ranks.size(), 2U);
  EXPECT_EQ(reports[0].ranks[1].throughput, nullptr);
}

TEST(ThroughputRun, ArmsThatRulesRefuse_AreNamed) {
  auto request = throughput_request(1);
  request.throughput->arms[1].options.dlo_prefetch_depth = 99;
  const auto report = run_on_threads(1, request).front();
  EXPECT_EQ(report.outcome, Outcome::kRejected);
  EXPECT_EQ(report.code, "CFG-60");
  EXPECT_NE(report.message.find("rank_local"), std::string::npos) << report.message;
  request.throughput->arms.clear();
  EXPECT_EQ(refuse_arms(request).front().code, codes::kInvalidValue);
}

TEST(ThroughputRun, Budgets_AreRefusedBeforeAnythingStarts) {
  using Budget = std::optional<std::uint64_t>;
  const std::vector<std::pair<Budget PlatformSpec::*, std::string>> budgets = {
      {&PlatformSpec::device_budget_bytes, "platform.device_budget_bytes"},
      {&PlatformSpec::pinned_budget_bytes, "platform.pinned_budget_bytes"}};
  for (const auto& [budget, field] : budgets) {
    auto request = throughput_request(1);
    request.model.checkpoint = "nothing is read";
    request.platform.*budget = std::uint64_t{1} << 40;
    const auto report = run_on_threads(1, request).front();
    EXPECT_EQ(report.outcome, Outcome::kRejected);
    EXPECT_EQ(report.code, codes::kInvalidValue);
    ASSERT_EQ(report.violations.size(), 1U) << field;
    EXPECT_EQ(report.violations[0].where, field);
    EXPECT_NE(report.violations[0].action.find("leave " + field + " out"), std::string::npos)
        << report.violations[0].action;
  }
}

TEST(ThroughputJson, Report_SurvivesTheRoundTrip) {
  auto request = throughput_request(1);
  request.throughput->rounds = 1;
  const auto report = run_on_threads(1, request).front();
  ASSERT_EQ(report.outcome, Outcome::kRuns) << report.message;
  const auto json = rank_report_to_json(report.ranks.front());
  EXPECT_EQ(rank_report_to_json(rank_report_from_json(json)), json);
  EXPECT_FALSE(json.at("throughput").at("arms").empty());
}

}  // namespace
}  // namespace dlo::engine
