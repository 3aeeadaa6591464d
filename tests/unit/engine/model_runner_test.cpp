// Goal: a run starts, serves and shuts down in the reference's order; every mode gives the resident
// bytes; a failure has one name on every rank it concerns; replicas without a group are
// independent. Method: the diffusers-written wan_tiny checkpoint on ranks that are threads of this
// process.
#include "engine/model_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "comm/threads/thread_world.h"
#include "platform/fault/faulting_device.h"
#include "platform/posix/posix_file_system.h"
#include "platform/posix/steady_clock.h"
#include "tests/support/engine_ranks.h"
#include "tests/support/tiny_run.h"

namespace dlo::engine {
namespace {

using test_support::run_on_threads;

RunRequest tiny_request(std::int64_t dp, bool offload, bool use_allgather) {
  auto request = test_support::tiny_run(DLO_GOLDEN_CHECKPOINT, dp);
  request.options.enable_distributed_layerwise_offload = offload;
  request.options.dlo_use_allgather = use_allgather;
  request.options.dlo_chunk_bytes = 4096;
  request.requests.count = 3;
  return request;
}

std::ptrdiff_t position(const std::vector<std::string>& events, const std::string& event) {
  return std::find(events.begin(), events.end(), event) - events.begin();
}

TEST(ModelRunner, EveryMode_GivesTheResidentBytes) {
  const auto resident = run_on_threads(2, tiny_request(2, false, true)).front();
  ASSERT_EQ(resident.outcome, Outcome::kRuns) << resident.message;
  for (const auto& [use_allgather, mapped] :
       {std::pair{false, false}, {false, true}, {true, false}, {true, true}}) {
    auto request = tiny_request(2, true, use_allgather);
    request.options.dlo_checkpoint_mmap = mapped;
    const auto report = run_on_threads(2, request).front();
    ASSERT_EQ(report.outcome, Outcome::kRuns) << report.message;
    EXPECT_EQ(report.output_digest, resident.output_digest);
    ASSERT_EQ(report.ranks.size(), 2U);
    for (const auto& rank : report.ranks) {
      EXPECT_EQ(rank.effective.backing,
                mapped ? contracts::Backing::kCheckpointMmap : contracts::Backing::kOrdinary);
      EXPECT_TRUE(rank.traffic.matches_plan());
      EXPECT_GT(rank.traffic.h2d_bytes, 0U);
      EXPECT_LE(rank.owned.device_peak, rank.owned.device_limit);
      EXPECT_LE(rank.owned.host_private_now, rank.owned.host_private_limit);
    }
  }
}

TEST(ModelRunner, Shutdown_DisablesBeforeCommunicatorsGo) {
  const auto report = run_on_threads(2, tiny_request(2, true, true)).front();
  for (const auto& rank : report.ranks) {
    const auto& events = rank.events;
    const auto end = static_cast<std::ptrdiff_t>(events.size());
    ASSERT_LT(position(events, "release communicators"), end);
    EXPECT_LT(position(events, "requests"), position(events, "disable"));
    EXPECT_LT(position(events, "disable"), position(events, "release communicators"));
    EXPECT_LT(position(events, "release communicators"), position(events, "release device"));
  }
}

TEST(ModelRunner, CopyFailsInsideAForward_OneNameOnBothRanksAndDisableStillComesFirst) {
  platform::FaultPlan plan;
  plan.rules.push_back(
      {.call = platform::SeamCall::kCopyToDevice, .rank = 1, .nth = 30, .code = {}});
  std::vector<std::unique_ptr<platform::FaultInjector>> injectors;
  injectors.push_back(std::make_unique<platform::FaultInjector>(plan, 0));
  injectors.push_back(std::make_unique<platform::FaultInjector>(plan, 1));
  const auto reports =
      run_on_threads(2, tiny_request(2, true, true),
                     {.device = [&injectors](std::unique_ptr<platform::Device> device, int rank) {
                       return std::make_unique<platform::FaultingDevice>(
                           std::move(device), *injectors[static_cast<std::size_t>(rank)]);
                     }});
  ASSERT_EQ(injectors[1]->strike_count(), 1U);
  for (const auto& report : reports) {
    EXPECT_EQ(report.outcome, Outcome::kFailsClosed);
    EXPECT_EQ(report.code, "copy_failed") << report.message;
  }
  for (const auto& rank : reports.front().ranks) {
    EXPECT_LT(position(rank.events, "disable"), position(rank.events, "release communicators"));
    EXPECT_LT(position(rank.events, "release device"),
              static_cast<std::ptrdiff_t>(rank.events.size()));
  }
}

// What the preflight meets is no end: the ordinary loader has its turn, and the report says why.
bool fell_back_for(const RunReport& report, const std::string& code, const std::string& digest) {
  return report.outcome == Outcome::kFallsBack && report.code == "checkpoint_plan_incompatible" &&
         report.message.find(code) != std::string::npos && report.output_digest == digest;
}

TEST(ModelRunner, EveryCallOfFilesAndWorkersFails_EndsByTheFaultsNameOrInTheOrdinaryLoader) {
  using platform::SeamCall;
  auto plain = tiny_request(1, true, false);
  plain.requests.count = 1;
  const auto steady = run_on_threads(1, plain).front();
  std::size_t fallbacks = 0;
  for (const auto call :
       {SeamCall::kFileStat, SeamCall::kFileList, SeamCall::kFileMap, SeamCall::kFileRead,
        SeamCall::kCopyToHost, SeamCall::kSubmit, SeamCall::kTask}) {
    std::uint64_t nth = 1;
    for (bool struck = true; struck; ++nth) {
      auto request = plain;
      request.platform.faults.rules.push_back(
          {.call = call, .rank = 0, .nth = nth, .code = "injected"});
      const auto report = run_on_threads(1, request).front();
      struck = report.ranks.at(0).fault_count > 0;
      if (fell_back_for(report, "injected", steady.output_digest)) {
        ++fallbacks;
      } else if (struck) {
        EXPECT_EQ(report.code, "injected") << seam_call_name(call) << " " << nth;
        EXPECT_LT(position(report.ranks.at(0).events, "release device"),
                  static_cast<std::ptrdiff_t>(report.ranks.at(0).events.size()));
      } else {
        EXPECT_EQ(report.outcome, Outcome::kRuns) << report.message;
      }
      ASSERT_LT(nth, 200U);
    }
    const bool reached = nth > 2;
    EXPECT_TRUE(reached || call == SeamCall::kFileList) << seam_call_name(call);
  }
  EXPECT_GT(fallbacks, 0U);
}

// The call sites of the engine itself, which the simulator does not have: operands, outputs.
TEST(ModelRunner, EveryDeviceCallOfARunFails_EndsByTheFaultsNameOrWithTheSameBytes) {
  using platform::SeamCall;
  auto plain = tiny_request(1, true, false);
  plain.requests.count = 1;
  plain.requests.steps = 1;
  const auto steady = run_on_threads(1, plain).front();
  for (const auto call : {SeamCall::kAllocateDevice, SeamCall::kAllocatePinned, SeamCall::kRecord,
                          SeamCall::kCopyToDevice, SeamCall::kCopyToHost, SeamCall::kWaitHost}) {
    std::size_t ended = 0;
    test_support::fail_each(
        plain, call, 499, [&](const auto& rank, const auto& report, const std::string& where) {
          ended += rank.code.empty() ? 0U : 1U;
          EXPECT_EQ(rank.code.empty() ? report.output_digest : rank.code,
                    rank.code.empty() ? steady.output_digest : "injected")
              << where;
          const auto lines =
              telemetry::grown_resources(rank.resources->before, rank.resources->after);
          EXPECT_TRUE(lines.empty()) << where << ": " << lines.front();
        });
    EXPECT_GT(ended, 0U) << seam_call_name(call);
  }
}

// Keeps something of each kind past the end of the run that made it, when it is told to.
class LeakingDevice : public platform::ForwardingDevice {
 public:
  using Keep = std::function<void(platform::Device&)>;

  LeakingDevice(std::unique_ptr<platform::Device> inner, const Keep& keep)
      : ForwardingDevice(std::move(inner)) {
    keep(*this);
  }
};

TEST(ModelRunner, EachThingThatARankKeeps_ShowsInItsCounts) {
  const platform::PosixFileSystem files;
  // Never given back: the device that they are of is gone by the end of the run.
  static auto& device_buffers = *new std::vector<std::unique_ptr<platform::DeviceBuffer>>;
  static auto& host_buffers = *new std::vector<std::unique_ptr<platform::HostBuffer>>;
  std::vector<std::unique_ptr<platform::MappedFile>> mappings;
  const std::map<std::string, LeakingDevice::Keep> kinds{
      {"device_bytes",
       [&](platform::Device& device) {
         device_buffers.push_back(
             device.allocate_device(4096, platform::MemoryPurpose::kOther).value());
       }},
      {"pinned_bytes",
       [&](platform::Device& device) {
         host_buffers.push_back(
             device.allocate_pinned(4096, platform::MemoryPurpose::kOther).value());
       }},
      {"pageable_bytes",
       [&](platform::Device& device) {
         host_buffers.push_back(
             device.allocate_pageable(4096, platform::MemoryPurpose::kOther).value());
       }},
      {"file_mappings", [&](platform::Device& /*device*/) {
         mappings.push_back(
             files.map_read_only(std::string(DLO_GOLDEN_CHECKPOINT) + "/model_index.json").value());
       }}};
  static_cast<void>(run_on_threads(2, tiny_request(2, true, true)));  // what libraries keep
  for (const auto& [name, keep] : kinds) {
    const auto report =
        run_on_threads(2, tiny_request(2, true, true),
                       {.device =
                            [&keep](std::unique_ptr<platform::Device> device, int rank) {
                              return rank == 1
                                         ? std::make_unique<LeakingDevice>(std::move(device), keep)
                                         : std::move(device);
                            }})
            .front();
    ASSERT_EQ(report.ranks.size(), 2U) << report.message;
    const auto& held = *report.ranks[1].resources;
    const auto lines = telemetry::grown_resources(held.before, held.after);
    EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [&](const auto& line) {
      return line.starts_with(name);
    })) << name;
    mappings.clear();
  }
}

TEST(ModelRunner, SlowGathersOfOneRank_ChangeNoByte) {
  const auto fast = run_on_threads(2, tiny_request(2, true, true)).front();
  for (const int slow : {0, 1}) {
    auto request = tiny_request(2, true, true);
    request.platform.slow_gather_ns = 2'000'000;
    request.platform.slow_gather_on_rank = slow;
    const auto report = run_on_threads(2, request).front();
    EXPECT_EQ(report.outcome, Outcome::kRuns) << report.message;
    EXPECT_EQ(report.output_digest, fast.output_digest) << "rank " << slow;
    EXPECT_TRUE(report.ranks.at(0).traffic.matches_plan());
  }
}

TEST(ModelRunner, ClockJumpsAnHourAtAnyReading_EndsByDeadlineOrWithTheSameBytes) {
  const auto steady = run_on_threads(1, tiny_request(1, true, false)).front();
  std::size_t ended = 0;
  for (std::uint64_t nth = 1;; ++nth) {
    ASSERT_LT(nth, 500U);
    auto request = tiny_request(1, true, false);
    platform::FaultRule jump;
    jump.call = platform::SeamCall::kClock;
    jump.nth = nth;
    request.platform.faults.rules = {jump};
    const auto report = run_on_threads(1, request).front();
    if (report.ranks.at(0).fault_count == 0) {
      break;
    }
    const auto& rank = report.ranks.at(0);
    ended += rank.code.empty() ? 0U : 1U;
    if (rank.code.empty()) {
      EXPECT_EQ(report.output_digest, steady.output_digest) << "reading " << nth;
    } else {
      EXPECT_EQ(rank.code, "deadline_exceeded") << "reading " << nth;
    }
  }
  EXPECT_GT(ended, 0U) << "no wait of a forward looks at the clock";
}

TEST(ModelRunner, FaultAndNoFault_GiveBackWhatTheyTook) {
  static_cast<void>(run_on_threads(2, tiny_request(2, true, true)));  // what libraries keep
  for (const auto call : {platform::SeamCall::kCopyToDevice, platform::SeamCall::kGather,
                          platform::SeamCall::kAllocateDevice, platform::SeamCall::kFileMap}) {
    auto request = tiny_request(2, true, true);
    // Of the files, one that the plan's consumer maps: what the preflight meets is no failure.
    const std::uint64_t nth = call == platform::SeamCall::kFileMap ? 5 : 2;
    request.platform.faults.rules.push_back({.call = call, .rank = 1, .nth = nth, .code = {}});
    const auto report = run_on_threads(2, request).front();
    EXPECT_EQ(report.outcome, Outcome::kFailsClosed) << seam_call_name(call);
    for (const auto& rank : report.ranks) {
      ASSERT_TRUE(rank.resources.has_value());
      const auto lines = telemetry::grown_resources(rank.resources->before, rank.resources->after);
      EXPECT_TRUE(lines.empty()) << seam_call_name(call) << ": " << lines.front();
    }
  }
}

TEST(ModelRunner, SlowDisk_ChangesNoByte) {
  const auto fast = run_on_threads(1, tiny_request(1, true, false)).front();
  auto request = tiny_request(1, true, false);
  request.platform.slow_file_ns = 2'000'000;
  EXPECT_EQ(run_on_threads(1, request).front().output_digest, fast.output_digest);
}

TEST(ModelRunner, OneRankCannotPin_EveryRankOfTheGroupEndsWithThatCode) {
  auto request = tiny_request(2, true, true);
  request.platform.pin_fails_on_rank = 1;
  for (const auto& report : run_on_threads(2, request)) {
    EXPECT_EQ(report.outcome, Outcome::kFailsClosed);
    EXPECT_EQ(report.code, "pin_failed");
    EXPECT_TRUE(report.world_usable);
  }
}

TEST(ModelRunner, IndependentReplicaCannotPin_TheOtherStillAnswers) {
  auto request = tiny_request(2, true, false);
  request.platform.pin_fails_on_rank = 1;
  const auto report = run_on_threads(2, request).front();
  EXPECT_EQ(report.code, "pin_failed");
  EXPECT_EQ(report.ranks.at(0).outputs.size(), 2U);
  EXPECT_TRUE(report.ranks.at(1).outputs.empty());
}

TEST(ModelRunner, RanksWithDifferentRequests_EndAlikeBeforeAnythingIsLoaded) {
  platform::SteadyClock clock;
  platform::PosixFileSystem files;
  auto worlds = comm::make_thread_world(2, clock);
  std::vector<RunReport> reports(2);
  test_support::run_ranks(worlds, [&](comm::World& world) {
    auto request = tiny_request(2, true, true);
    request.model.checkpoint = "nowhere";
    request.requests.seed = static_cast<std::uint64_t>(world.rank());
    RunEnvironment environment;
    environment.world = &world;
    environment.files = &files;
    reports[static_cast<std::size_t>(world.rank())] = run(environment, request);
  });
  for (const auto& report : reports) {
    EXPECT_EQ(report.code, "ranks_disagree");
  }
}

TEST(ModelRunner, RuleViolated_AllAreReportedAndNothingIsLoaded) {
  auto request = tiny_request(1, true, true);
  request.model.checkpoint = "nowhere";
  request.options.dlo_enable_runtime_cache = true;
  request.options.dlo_runtime_cache_lock_timeout = -1;
  const auto report = run_on_threads(1, request).front();
  EXPECT_EQ(report.outcome, Outcome::kRejected);
  EXPECT_EQ(report.violations.size(), 2U);
}

TEST(ModelRunner, WorldTooSmall_IsRejectedByName) {
  const auto report = run_on_threads(1, tiny_request(2, true, true)).front();
  EXPECT_EQ(report.outcome, Outcome::kRejected);
  EXPECT_EQ(report.code, "world_too_small");
}

TEST(ModelRunner, GroupOfOne_FallsBackToItsOwnBlocksWithItsCode) {
  for (const bool mapped : {false, true}) {
    auto request = tiny_request(1, true, true);
    request.options.dlo_checkpoint_mmap = mapped;
    const auto report = run_on_threads(1, request).front();
    EXPECT_EQ(report.outcome, Outcome::kFallsBack);
    EXPECT_EQ(report.code, "group_size_one");
    EXPECT_EQ(report.ranks.at(0).effective.transfer,
              mapped ? contracts::Transfer::kStaged : contracts::Transfer::kRankLocal);
  }
}

TEST(ModelRunner, RanksBeyondTheTopology_TakeNoPartAndGetTheReport) {
  const auto reports = run_on_threads(3, tiny_request(2, true, true));
  EXPECT_EQ(reports.at(2).outcome, Outcome::kRuns);
  EXPECT_EQ(reports.at(2).output_digest, reports.at(0).output_digest);
  EXPECT_EQ(reports.at(0).ranks.size(), 2U);
}

}  // namespace
}  // namespace dlo::engine
