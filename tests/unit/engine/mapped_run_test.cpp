// Goal: a run from a mapped checkpoint gives the resident bytes in every mode, says what it really
// did, and a shard that is cut under its mapping is one named error on every rank it concerns.
// Method: a copy of the diffusers-written wan_tiny checkpoint on ranks that are threads of this
// process; a file system and a device at which the ranks meet at a chosen moment and cut a shard.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "base/codes.h"
#include "comm/threads/thread_world.h"
#include "engine/model_runner.h"
#include "platform/posix/posix_file_system.h"
#include "platform/posix/steady_clock.h"
#include "tests/support/moments.h"
#include "tests/support/thread_ranks.h"
#include "tests/support/tiny_run.h"

namespace dlo::engine {
namespace {

constexpr const char* kShard = "diffusion_pytorch_model-00002-of-00003.safetensors";
// The preflight and the plan's consumer each map three shards.
constexpr int kMapsOfPreflight = 3;
constexpr int kMapsPerRank = 6;
// In the middle of a forward.
constexpr int kLaunches = 12;
constexpr Nanoseconds kMeetingTimeout = 20 * kSecond;

using test_support::MomentDevice;
using test_support::MomentFiles;

// When a shard is cut on every rank: after so many mappings or launches of its own; 0: never.
struct Moment {
  int maps = 0;
  int launches = 0;
};

class MappedRun : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::copy(DLO_GOLDEN_CHECKPOINT, folder_, std::filesystem::copy_options::recursive);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] RunRequest request(std::int64_t dp, bool offload, bool use_allgather) const {
    auto request = test_support::tiny_run(folder_, dp);
    request.options.enable_distributed_layerwise_offload = offload;
    request.options.dlo_use_allgather = use_allgather;
    request.options.dlo_chunk_bytes = 4096;
    request.options.dlo_staging_chunk_bytes = 4096;
    request.requests.count = 2;
    return request;
  }
  RunReport run_on_threads(int ranks, const RunRequest& request, Moment moment = {});

  const platform::Path folder_ = platform::Path(testing::TempDir()) / "dlo_mapped_run";
};

// Where all ranks stand when the shard is cut: whoever comes last cuts, the others wait for it.
class Meeting {
 public:
  Meeting(int ranks, platform::Path shard) : ranks_(ranks), shard_(std::move(shard)) {}

  void come() {
    if (++arrived_ == ranks_) {
      std::filesystem::resize_file(shard_, 0);
      return;
    }
    platform::SteadyClock clock;
    const auto deadline = Deadline::after(clock.now(), kMeetingTimeout);
    while (std::filesystem::file_size(shard_) != 0) {
      ASSERT_FALSE(deadline.expired(clock.now())) << "another rank did not come";
      clock.sleep(kMillisecond);
    }
  }

 private:
  int ranks_;
  platform::Path shard_;
  std::atomic<int> arrived_{0};
};

RunReport MappedRun::run_on_threads(int ranks, const RunRequest& request, Moment moment) {
  platform::SteadyClock clock;
  platform::PosixFileSystem posix;
  const platform::FaultPlan no_faults{};
  Meeting meeting(ranks, folder_ / "transformer" / kShard);
  auto worlds = comm::make_thread_world(ranks, clock);
  std::vector<RunReport> reports(static_cast<std::size_t>(ranks));
  test_support::run_ranks(worlds, [&](comm::World& world) {
    platform::FaultInjector injector(no_faults, world.rank());
    MomentFiles files(posix, injector, moment.maps, [&] { meeting.come(); });
    RunEnvironment environment;
    environment.world = &world;
    environment.files = &files;
    environment.build_digest = "test";
    environment.decorate_device = [&](std::unique_ptr<platform::Device> device) {
      return std::make_unique<MomentDevice>(std::move(device), moment.launches,
                                            [&] { meeting.come(); });
    };
    reports[static_cast<std::size_t>(world.rank())] = run(environment, request);
  });
  return reports.front();
}

bool has_event(const RankReport& rank, const std::string& event) {
  return std::find(rank.events.begin(), rank.events.end(), event) != rank.events.end();
}

TEST_F(MappedRun, EveryMode_GivesTheResidentBytesFromTheMapping) {
  const auto resident = run_on_threads(2, request(2, false, true));
  ASSERT_EQ(resident.outcome, Outcome::kRuns) << resident.message;
  for (const bool use_allgather : {false, true}) {
    const auto report = run_on_threads(2, request(2, true, use_allgather));
    ASSERT_EQ(report.outcome, Outcome::kRuns) << report.message;
    EXPECT_EQ(report.output_digest, resident.output_digest);
    for (const auto& rank : report.ranks) {
      EXPECT_EQ(rank.effective.backing, contracts::Backing::kCheckpointMmap);
      EXPECT_EQ(rank.effective.transfer,
                use_allgather ? contracts::Transfer::kAllGather : contracts::Transfer::kStaged);
      EXPECT_TRUE(rank.traffic.matches_plan());
      EXPECT_EQ(rank.mapped_files.size(), 3U);
      EXPECT_EQ(rank.mapped_files, report.ranks.front().mapped_files);
      EXPECT_NE(rank.mapped_files.front().inode, 0U);
      EXPECT_GT(rank.weight_bytes, 0U);
      EXPECT_TRUE(has_event(rank, "preflight: planned"));
      EXPECT_TRUE(has_event(rank, "map"));
      EXPECT_LE(rank.owned.device_peak, rank.owned.device_limit);
      EXPECT_LE(rank.owned.host_private_now, rank.owned.host_private_limit);
    }
  }
}

struct Family {
  const char* folder;
  DType runtime_dtype;
};

// The same requests of one checkpoint, in every mode.
void expect_equal_bytes(const std::vector<RunReport>& reports) {
  for (const auto& report : reports) {
    // A child of a single block is resident, which is said.
    ASSERT_TRUE(report.outcome == Outcome::kRuns || report.code == codes::kSingleBlockResident)
        << report.code << ": " << report.message;
    EXPECT_EQ(report.output_digest, reports.front().output_digest);
    for (const auto& rank : report.ranks) {
      EXPECT_TRUE(rank.traffic.matches_plan());
    }
  }
}

TEST_F(MappedRun, EveryFamily_GivesTheSameBytesStagedPrivateGatheredAndResident) {
  for (const auto& [folder, dtype] :
       {Family{"wan_tiny/checkpoint", DType::kF32}, Family{"wan22_tiny/checkpoint", DType::kF32},
        Family{"flux_tiny/checkpoint", DType::kF32}, Family{"h3_tiny/native", DType::kBF16}}) {
    SCOPED_TRACE(folder);
    auto resident = request(2, false, true);
    resident.model.checkpoint = platform::Path(DLO_GOLDEN_DIR) / folder;
    resident.model.runtime_dtype = dtype;
    auto staged = resident;
    staged.options = request(2, true, false).options;
    auto held_privately = staged;
    held_privately.options.dlo_checkpoint_mmap = false;
    auto gathered = staged;
    gathered.options.dlo_use_allgather = true;
    const std::vector<RunReport> reports = {run_on_threads(2, resident), run_on_threads(2, staged),
                                            run_on_threads(2, held_privately),
                                            run_on_threads(2, gathered)};
    expect_equal_bytes(reports);
    EXPECT_EQ(reports[1].ranks.at(0).effective.transfer, contracts::Transfer::kStaged);
    EXPECT_EQ(reports[2].ranks.at(0).effective.transfer, contracts::Transfer::kRankLocal);
    EXPECT_EQ(reports[3].ranks.at(0).effective.transfer, contracts::Transfer::kAllGather);
    EXPECT_EQ(reports[3].ranks.at(0).effective.backing, contracts::Backing::kCheckpointMmap);
  }
}

TEST_F(MappedRun, LeadingBlocksOnTheDevice_GiveTheSameBytesFromTheMapping) {
  auto leading = request(1, true, false);
  leading.options.dlo_resident_layers = 1;
  const auto report = run_on_threads(1, leading);
  ASSERT_EQ(report.outcome, Outcome::kRuns) << report.code << ": " << report.message;
  EXPECT_EQ(report.ranks.at(0).effective.resident_block_count, 1U);
  EXPECT_EQ(report.output_digest, run_on_threads(1, request(1, false, false)).output_digest);
}

TEST_F(MappedRun, MappingSwitchedOff_LoadsPrivatelyAndIsNoDowngrade) {
  auto off = request(1, true, false);
  off.options.dlo_checkpoint_mmap = false;
  const auto report = run_on_threads(1, off);
  ASSERT_EQ(report.outcome, Outcome::kRuns) << report.message;
  EXPECT_EQ(report.ranks[0].effective.backing, contracts::Backing::kOrdinary);
  EXPECT_TRUE(report.ranks[0].mapped_files.empty());
  EXPECT_EQ(report.ranks[0].effective.transfer, contracts::Transfer::kRankLocal);
  EXPECT_EQ(report.output_digest, run_on_threads(1, request(1, true, false)).output_digest);
}

TEST_F(MappedRun, CheckpointThatCannotBeMapped_FallsBackWithItsCodeAndTheResidentBytes) {
  auto other_dtype = request(1, true, false);
  other_dtype.model.runtime_dtype = DType::kBF16;
  const auto report = run_on_threads(1, other_dtype);
  EXPECT_EQ(report.outcome, Outcome::kFallsBack);
  EXPECT_EQ(report.code, codes::kCheckpointPlanIncompatible);
  EXPECT_TRUE(report.message.starts_with("dtype mismatch")) << report.message;
  EXPECT_EQ(report.ranks.at(0).effective.backing, contracts::Backing::kOrdinary);
  other_dtype.options.enable_distributed_layerwise_offload = false;
  EXPECT_EQ(report.output_digest, run_on_threads(1, other_dtype).output_digest);
}

// Bug case FM-9 (a): what the preflight saw is gone when the plan is consumed. There are no other
// weights any more, so that is no reason to fall back.
TEST_F(MappedRun, PlanWhoseConsumerCannotStart_EndsTheStartUp) {
  const auto report = run_on_threads(1, request(1, true, false), {.maps = kMapsOfPreflight});
  EXPECT_EQ(report.outcome, Outcome::kFailsClosed);
  EXPECT_EQ(report.code, codes::kSafetensorsInvalid) << report.message;
  EXPECT_NE(report.message.find(kShard), std::string::npos) << report.message;
  EXPECT_TRUE(report.ranks.at(0).outputs.empty());
}

// Bug case FM-9 (b): before and while the shards are packed.
TEST_F(MappedRun, ShardCutUnderItsMapping_IsOneNameOnEveryRank) {
  for (const bool use_allgather : {false, true}) {
    SetUp();
    const auto report = run_on_threads(2, request(2, true, use_allgather), {.maps = kMapsPerRank});
    EXPECT_EQ(report.outcome, Outcome::kFailsClosed);
    EXPECT_EQ(report.code, codes::kMappingTruncated) << report.message;
    EXPECT_NE(report.message.find(kShard), std::string::npos) << report.message;
    ASSERT_EQ(report.ranks.size(), 2U);
    for (const auto& rank : report.ranks) {
      EXPECT_TRUE(rank.code == codes::kMappingTruncated || rank.code == codes::kPeerFailed)
          << rank.code << ": " << rank.message;
    }
  }
}

// Bug case FM-9 (c): in the middle of inference.
TEST_F(MappedRun, ShardCutWhileForwardsRun_EndsStagedReplicasByItsName) {
  const auto report = run_on_threads(2, request(2, true, false), {.launches = kLaunches});
  EXPECT_EQ(report.outcome, Outcome::kFailsClosed);
  EXPECT_EQ(report.code, codes::kMappingTruncated) << report.message;
  ASSERT_EQ(report.ranks.size(), 2U);
  for (const auto& rank : report.ranks) {
    EXPECT_EQ(rank.code, codes::kMappingTruncated) << rank.message;
    EXPECT_NE(rank.message.find(kShard), std::string::npos) << rank.message;
  }
}

TEST_F(MappedRun, ShardCutWhileForwardsRun_IsNoConcernOfGatheredShards) {
  const auto steady = run_on_threads(2, request(2, true, true));
  const auto report = run_on_threads(2, request(2, true, true), {.launches = kLaunches});
  EXPECT_EQ(report.outcome, Outcome::kRuns) << report.message;
  EXPECT_EQ(report.output_digest, steady.output_digest);
  EXPECT_EQ(std::filesystem::file_size(folder_ / "transformer" / kShard), 0U) << "never cut";
}

}  // namespace
}  // namespace dlo::engine
