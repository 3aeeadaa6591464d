// Goal: every seam call that a run makes, failing on every rank with every code it has in real
// life, ends in the right bytes or in one named error on every rank that did not finish, with
// everything released; and a run that keeps something is caught, whatever it keeps.
// Method: the fail-the-n-th loop over small cases that reach every transfer, random faults, and
// decorators that leak on purpose.
#include "engine/simulation/fault_loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "platform/cpu/cpu_device.h"
#include "platform/forwarding_device.h"
#include "platform/posix/posix_file_system.h"
#include "platform/posix/steady_clock.h"
#include "tests/unit/sim/judged_resources.h"

namespace dlo::engine {
namespace {

using platform::SeamCall;
using telemetry::ProcessResources;

void expect_clean(const FaultSummary& summary) {
  EXPECT_TRUE(summary.clean()) << summary.hung << " hung, " << summary.different_bytes
                               << " with different bytes, " << summary.leaked << " leaked, "
                               << summary.otherwise_wrong << " otherwise wrong";
  for (const auto& problem : summary.first_problems) {
    ADD_FAILURE() << problem;
  }
}

// Counts this process and the files below a folder of the test's own.
class Probe {
 public:
  explicit Probe(Nanoseconds settle = telemetry::kSettleTimeout) : settle_(settle) {
    std::filesystem::create_directories(folder_);
  }
  ~Probe() { std::filesystem::remove_all(folder_); }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  [[nodiscard]] ResourceProbe function() {
    return [this](const ProcessResources* before) {
      return judged(
          before == nullptr
              ? telemetry::count_resources(files_, {folder_}).value()
              : telemetry::count_settled(files_, {folder_}, *before, clock_, settle_).value());
    };
  }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  platform::PosixFileSystem files_;
  platform::SteadyClock clock_;
  Nanoseconds settle_;
  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "dlo_fault_loop_test";
};

TEST(FaultLoop, EveryCallOfEveryRankFails_EndsByNameWithEverythingReleased) {
  Probe probe;
  FaultSummary all;
  for (const auto& simulated : fault_cases()) {
    const auto summary = fail_every_call(simulated, 1, {.count = probe.function(), .decorate = {}});
    expect_clean(summary);
    EXPECT_GT(summary.ended_by_name, 20U) << simulated.text();
    all += summary;
  }
  for (std::size_t index = 0; index < platform::kSeamCallCount; ++index) {
    const auto call = static_cast<SeamCall>(index);
    const std::string name(seam_call_name(call));
    // Neither backend nor hot path copies to the host or uses files: the file loop and the engine's
    // tests do.
    const bool elsewhere = call == SeamCall::kCopyToHost || name.starts_with("file_");
    EXPECT_EQ(all.injected_into(call) == 0, elsewhere) << name;
  }
  EXPECT_EQ(all.unlisted(), std::vector<std::string>{});
}

TEST(FaultLoop, CallWithSeveralCodes_EndsUnderEachOfThem) {
  const auto summary = fail_every_call(fault_cases().at(2), 1);
  for (const auto* site : {"wait_host drain", "exchange schedule", "gather gather"}) {
    const auto& injected = summary.sites.at(site).injected;
    EXPECT_GE(injected.size(), 3U) << site;
    EXPECT_TRUE(injected.contains("peer_failed")) << site;
  }
}

TEST(FaultLoop, ClockJumpsAnHourWhileEnablingInAForwardOrWhileDisabling_EndsByNameOrNotAtAll) {
  FaultSummary all;
  for (const auto& simulated : fault_cases()) {
    platform::FaultRule rule;
    rule.call = SeamCall::kClock;
    rule.rank = 0;
    std::set<std::string> ended_in;
    for (rule.nth = 1;; ++rule.nth) {
      platform::FaultPlan plan;
      plan.rules.push_back(rule);
      const auto verdict = simulate(simulated, 1, {.faults = &plan});
      ASSERT_TRUE(verdict.ok()) << simulated.text() << ", reading " << rule.nth << ": "
                                << verdict.violation;
      const auto& rank = verdict.ranks.at(0);
      if (!all.book(verdict, simulated.text())) {
        break;
      }
      if (!rank.code.empty()) {
        EXPECT_EQ(rank.code, "deadline_exceeded");
        ended_in.insert(rank.abandoned_buffers ? "disable()"
                                               : rank.message.substr(0, rank.message.find(':')));
      }
      // The backend says so when it gives up buffers; nothing else may be left.
      EXPECT_EQ(rank.abandoned_buffers,
                rank.message.find("buffers that it may touch are left alone") != std::string::npos);
    }
    EXPECT_TRUE(ended_in.contains("end_request()")) << simulated.text();
    EXPECT_TRUE(ended_in.contains("disable()")) << simulated.text();
  }
  EXPECT_GT(all.abandoned, 0U);
  EXPECT_EQ(all.leaked, 0U);
}

TEST(FaultLoop, RandomFaultsOverDrawnCases_NothingHangsLeaksOrDiffers) {
  Probe probe;
  const auto summary = fail_at_random(1, 300, {.count = probe.function(), .decorate = {}});
  expect_clean(summary);
  EXPECT_GT(summary.injected, 100U);
  EXPECT_GT(summary.survived + summary.ended_by_name, 100U);
}

// A device that keeps something at every run, when it is made.
class Leak {
 public:
  virtual ~Leak() = default;
  virtual void take() = 0;

  [[nodiscard]] DeviceDecorator decorator() {
    return [this](std::unique_ptr<platform::Device> device, int /*rank*/) {
      take();
      return device;
    };
  }
};

class LeakedDescriptors : public Leak {
 public:
  void take() override { files_.emplace_back("/proc/self/status"); }

 private:
  std::vector<std::ifstream> files_;
};

class LeakedFiles : public Leak {
 public:
  explicit LeakedFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}
  void take() override { std::ofstream(folder_ / std::to_string(count_++)) << "left"; }

 private:
  std::filesystem::path folder_;
  int count_ = 0;
};

class LeakedMappings : public Leak {
 public:
  void take() override { mappings_.push_back(files_.map_read_only("/proc/self/exe").value()); }

 private:
  platform::PosixFileSystem files_;
  std::vector<std::unique_ptr<platform::MappedFile>> mappings_;
};

class LeakedThreads : public Leak {
 public:
  ~LeakedThreads() override {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_) {
      thread.join();
    }
  }
  void take() override {
    threads_.emplace_back([this] {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return open_; });
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  std::vector<std::thread> threads_;
};

class LeakedLocks : public Leak {
 public:
  void take() override {
    auto buffer = device_->allocate_pinned(4096, platform::MemoryPurpose::kOther);
    if (buffer.ok()) {
      buffers_.push_back(std::move(buffer).value());
    }
  }

 private:
  platform::SteadyClock clock_;
  std::unique_ptr<FailureSignal> signal_ = make_local_failure_signal();
  std::unique_ptr<platform::Device> device_ = platform::make_cpu_device({}, clock_, *signal_);
  std::vector<std::unique_ptr<platform::HostBuffer>> buffers_;
};

void expect_leak(Probe& probe, Leak& leak, const std::string& figure) {
  const auto summary =
      fail_at_random(1, 5, {.count = probe.function(), .decorate = leak.decorator()});
  EXPECT_GE(summary.leaked, 4U) << figure;
  EXPECT_FALSE(summary.clean());
  ASSERT_FALSE(summary.first_problems.empty()) << figure;
  EXPECT_NE(summary.first_problems.front().find("are left: "), std::string::npos);
  EXPECT_NE(summary.first_problems.front().find(figure), std::string::npos)
      << summary.first_problems.front();
}

TEST(FaultLoopLeaks, EachThingThatARunKeeps_IsCaughtByItsName) {
  Probe probe(50 * kMillisecond);  // what is kept stays, however long one waits
  LeakedDescriptors descriptors;
  expect_leak(probe, descriptors, "descriptors");
  LeakedFiles files(probe.folder());
  expect_leak(probe, files, "temporary_files");
  LeakedMappings mappings;
  expect_leak(probe, mappings, "file_mappings");
  LeakedThreads threads;
  expect_leak(probe, threads, "threads");
  if (!kSanitized) {
    LeakedLocks locks;
    expect_leak(probe, locks, "locked_bytes");
  }
}

// Keeps a buffer of the simulated device.
class KeepingDevice : public platform::ForwardingDevice {
 public:
  KeepingDevice(std::unique_ptr<platform::Device> inner,
                std::vector<std::unique_ptr<platform::HostBuffer>>& kept)
      : ForwardingDevice(std::move(inner)) {
    kept.push_back(this->inner().allocate_pageable(256, platform::MemoryPurpose::kOther).value());
  }
};

TEST(FaultLoopLeaks, BufferOfTheDeviceThatIsKept_IsCaught) {
  std::vector<std::unique_ptr<platform::HostBuffer>> kept;
  const auto verdict =
      simulate(fault_cases().front(), 1,
               {.decorate = [&kept](std::unique_ptr<platform::Device> device, int /*rank*/) {
                 return std::make_unique<KeepingDevice>(std::move(device), kept);
               }});
  EXPECT_NE(verdict.violation.find("buffers are left after disable()"), std::string::npos)
      << verdict.violation;
}

}  // namespace
}  // namespace dlo::engine
