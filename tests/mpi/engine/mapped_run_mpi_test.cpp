// Goal: a shard that is cut under the live mappings of several processes is one named error on
// every rank, and no crash, also with the MPI library's own signal handlers in the process.
// Method: a copy of the diffusers-written wan_tiny checkpoint, mapped by two ranks; rank 0 cuts a
// shard when both have come to a chosen moment.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/codes.h"
#include "comm/mpi/mpi_world.h"
#include "engine/model_runner.h"
#include "platform/posix/posix_file_system.h"
#include "platform/posix/steady_clock.h"
#include "tests/support/moments.h"
#include "tests/support/tiny_run.h"

namespace dlo::engine {
namespace {

constexpr const char* kShard = "diffusion_pytorch_model-00002-of-00003.safetensors";
// The preflight and the plan's consumer each map three shards.
constexpr int kMapsPerRank = 6;
// In the middle of a forward.
constexpr int kLaunches = 12;
constexpr Nanoseconds kMeetingTimeout = 20 * kSecond;

// When the shard is cut: after so many mappings or launches of every rank; 0: never.
struct Moment {
  int maps = 0;
  int launches = 0;
};

class MappedRunMpi : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto started = comm::MpiWorld::start(nullptr, nullptr, comm::MpiWorldOptions{}, clock());
    ASSERT_TRUE(started.ok()) << started.refusal().message();
    world() = std::move(*started);
  }
  // After a collective that failed this ends the process: then with what became of the tests.
  static void TearDownTestSuite() {
    if (world()) {
      const int code = testing::UnitTest::GetInstance()->Failed() ? 1 : 0;
      EXPECT_EQ(world()->leave(code), 0);
    }
    world().reset();
  }
  static platform::SteadyClock& clock() {
    static platform::SteadyClock the_clock;
    return the_clock;
  }
  static std::unique_ptr<comm::MpiWorld>& world() {
    static std::unique_ptr<comm::MpiWorld> the_world;
    return the_world;
  }

  void SetUp() override {
    std::string mine;
    if (world()->rank() == 0) {
      std::string pattern = testing::TempDir() + "/dlo_mapped_run_XXXXXX";
      ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
      mine = pattern;
      std::filesystem::copy(DLO_GOLDEN_CHECKPOINT, mine, std::filesystem::copy_options::recursive);
    }
    folder_ = all_say("folder", mine).at(0);
    ASSERT_FALSE(folder_.empty());
  }
  void TearDown() override {
    all_say("done", "");
    if (world()->rank() == 0) {
      std::filesystem::remove_all(folder_);
    }
  }
  static std::vector<std::string> all_say(std::string_view what, const std::string& mine) {
    const auto deadline = Deadline::after(clock().now(), kMeetingTimeout);
    const auto said = world()->control().exchange(what, mine, deadline);
    EXPECT_TRUE(said.ok()) << said.refusal().message();
    return said.ok() ? *said : std::vector<std::string>(1);
  }

  [[nodiscard]] RunRequest request(bool use_allgather) const {
    auto request = test_support::tiny_run(folder_, 2);
    request.options.enable_distributed_layerwise_offload = true;
    request.options.dlo_use_allgather = use_allgather;
    request.options.dlo_chunk_bytes = 4096;
    request.options.dlo_staging_chunk_bytes = 4096;
    request.requests.count = 2;
    return request;
  }
  [[nodiscard]] RunReport run_until(Moment moment, const RunRequest& request);

  platform::Path folder_;

 private:
  // In the middle of a run, so by marks in the folder: rank 0 cuts when the other has come.
  void cut_together() const;
  void wait_for(const std::function<bool()>& seen) const;
};

void MappedRunMpi::wait_for(const std::function<bool()>& seen) const {
  const auto deadline = Deadline::after(clock().now(), kMeetingTimeout);
  while (!seen()) {
    ASSERT_FALSE(deadline.expired(clock().now())) << "the other rank did not come";
    clock().sleep(kMillisecond);
  }
}

void MappedRunMpi::cut_together() const {
  const auto shard = folder_ / "transformer" / kShard;
  const auto mark = folder_ / "rank_1_has_come";
  if (world()->rank() == 0) {
    wait_for([&] { return std::filesystem::exists(mark); });
    std::filesystem::resize_file(shard, 0);
  } else {
    std::ofstream(mark).put('\n');
    wait_for([&] { return std::filesystem::file_size(shard) == 0; });
  }
}

RunReport MappedRunMpi::run_until(Moment moment, const RunRequest& request) {
  platform::PosixFileSystem posix;
  const platform::FaultPlan no_faults{};
  platform::FaultInjector injector(no_faults, world()->rank());
  test_support::MomentFiles files(posix, injector, moment.maps, [&] { cut_together(); });
  RunEnvironment environment;
  environment.world = world().get();
  environment.files = &files;
  environment.build_digest = "test";
  environment.decorate_device = [&](std::unique_ptr<platform::Device> device) {
    return std::make_unique<test_support::MomentDevice>(std::move(device), moment.launches,
                                                        [&] { cut_together(); });
  };
  return run(environment, request);
}

TEST_F(MappedRunMpi, WholeShards_AreTheSameFilesOnEveryRank) {
  const auto report = run_until({}, request(false));
  ASSERT_EQ(report.outcome, Outcome::kRuns) << report.message;
  std::string mine;
  for (const auto& file : report.own.value().mapped_files) {
    mine += std::to_string(file.device) + ":" + std::to_string(file.inode) + " ";
  }
  const auto said = all_say("mapped files", mine);
  EXPECT_EQ(report.own->mapped_files.size(), 3U);
  EXPECT_EQ(said.front(), said.back());
}

// Bug case FM-9 (c): in the middle of inference.
TEST_F(MappedRunMpi, ShardCutWhileForwardsRun_IsItsNameOnEveryRank) {
  const auto report = run_until({.launches = kLaunches}, request(false));
  EXPECT_EQ(report.outcome, Outcome::kFailsClosed);
  EXPECT_EQ(report.code, codes::kMappingTruncated) << report.message;
  const auto& own = report.own.value();
  EXPECT_EQ(own.code, codes::kMappingTruncated) << own.message;
  EXPECT_NE(own.message.find(kShard), std::string::npos) << own.message;
}

// Bug case FM-9 (b): before the shards are packed. Who hears of it from a peer says that.
TEST_F(MappedRunMpi, ShardCutBeforeItIsPacked_IsOneNameOnEveryRank) {
  const auto report = run_until({.maps = kMapsPerRank}, request(true));
  EXPECT_EQ(report.outcome, Outcome::kFailsClosed);
  EXPECT_EQ(report.code, codes::kMappingTruncated) << report.message;
  const auto& own = report.own.value();
  EXPECT_TRUE(own.code == codes::kMappingTruncated || own.code == codes::kPeerFailed)
      << own.code << ": " << own.message;
}

}  // namespace
}  // namespace dlo::engine
