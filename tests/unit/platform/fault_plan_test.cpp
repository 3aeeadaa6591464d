// Goal: every call of a seam can be made to fail, with a code that it has in real life, at a call
// site that is listed; files, workers and events fail without having done anything.
// Method: the decorators over files in memory, an executor and a device of this process.
#include "platform/fault/fault_plan.h"

#include <gtest/gtest.h>

#include <set>

#include "base/codes.h"
#include "platform/cpu/cpu_device.h"
#include "platform/cpu/thread_executor.h"
#include "platform/fault/faulting_device.h"
#include "platform/fault/faulting_executor.h"
#include "platform/fault/faulting_file_system.h"
#include "platform/posix/steady_clock.h"
#include "tests/support/memory_file_system.h"

namespace dlo::platform {
namespace {

FaultPlan plan_of(SeamCall call, std::uint64_t nth = 1) {
  FaultRule rule;
  rule.call = call;
  rule.nth = nth;
  return {.rules = {rule}, .seed = 1};
}

TEST(SeamCalls, EachCall_HasANameOfItsOwnCodesAndAListedSite) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kSeamCallCount; ++i) {
    const auto call = static_cast<SeamCall>(i);
    EXPECT_TRUE(names.insert(seam_call_name(call)).second) << seam_call_name(call);
    const auto codes = natural_codes(call);
    ASSERT_FALSE(codes.empty()) << seam_call_name(call);
    EXPECT_EQ(std::set<std::string_view>(codes.begin(), codes.end()).size(), codes.size());
    const auto prefix = call_site(call, "");
    const auto& sites = known_call_sites();
    EXPECT_TRUE(std::any_of(sites.begin(), sites.end(), [&](const std::string& site) {
      return site.starts_with(prefix);
    })) << seam_call_name(call);
  }
}

TEST(SeamCalls, RolesOfFiles_AreToldByTheirNames) {
  EXPECT_EQ(file_role("/m/transformer/model.safetensors"), "weights");
  EXPECT_EQ(file_role("/m/transformer/model.safetensors.index.json"), "text");
  EXPECT_EQ(file_role("/m/config.json.tmp0"), "text");
  EXPECT_EQ(file_role("/m/.made.dlo-partial"), "folder");
  EXPECT_EQ(file_role("/m/transformer"), "folder");
}

TEST(FaultInjector, Strike_CountsSitesAndNamesTheFirst) {
  const auto plan = plan_of(SeamCall::kRecord, 2);
  FaultInjector injector(plan, 0);
  EXPECT_FALSE(injector.strike(SeamCall::kRecord, "ready_record").has_value());
  const auto refusal = injector.strike(SeamCall::kRecord, "free_record", "free_record slot 1");
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->code, codes::kDeviceFailed);
  EXPECT_EQ(refusal->where, "rank 0, free_record slot 1");
  EXPECT_EQ(injector.first_site(), "record free_record");
  EXPECT_EQ(injector.sites().at("record ready_record"), 1U);
}

class FaultingFilesTest : public testing::Test {
 protected:
  FaultingFilesTest() { memory_.put("/in/a.json", "{}"); }

  // How `step` over files with the first call of `call` failing ends; nothing may have changed.
  template <typename Step>
  std::string code_of(SeamCall call, const Step& step) {
    const auto plan = plan_of(call);
    FaultInjector injector(plan, 0);
    FaultingFileSystem files(memory_, injector, {});
    const auto before = memory_.all_files();
    const auto outcome = step(files);
    EXPECT_EQ(injector.strike_count(), 1U) << seam_call_name(call);
    EXPECT_EQ(memory_.all_files(), before) << seam_call_name(call);
    return outcome.ok() ? "ok" : outcome.refusal().code;
  }

  test_support::MemoryFileSystem memory_;
};

TEST_F(FaultingFilesTest, EachCallOfAFileSystem_FailsByItsNaturalCodeAndDoesNothing) {
  using Files = FaultingFileSystem;
  EXPECT_EQ(code_of(SeamCall::kFileStat, [](Files& f) { return f.stat("/in/a.json"); }),
            codes::kFileUnreadable);
  EXPECT_EQ(code_of(SeamCall::kFileStat, [](Files& f) { return f.read_link("/in/a.json"); }),
            codes::kFileUnreadable);
  EXPECT_EQ(code_of(SeamCall::kFileList, [](Files& f) { return f.list("/in"); }),
            codes::kFileUnreadable);
  EXPECT_EQ(code_of(SeamCall::kFileMap, [](Files& f) { return f.map_read_only("/in/a.json"); }),
            codes::kFileUnreadable);
  EXPECT_EQ(code_of(SeamCall::kFileRead, [](Files& f) { return f.read_text("/in/a.json", 9); }),
            codes::kFileUnreadable);
  EXPECT_EQ(code_of(SeamCall::kFileCreate, [](Files& f) { return f.create("/in/b"); }),
            codes::kFileUnwritable);
  EXPECT_EQ(
      code_of(SeamCall::kFileMakeDirectories, [](Files& f) { return f.make_directories("/new"); }),
      codes::kFileUnwritable);
  EXPECT_EQ(
      code_of(SeamCall::kFileRename, [](Files& f) { return f.rename("/in/a.json", "/in/b"); }),
      codes::kFileUnwritable);
  EXPECT_EQ(code_of(SeamCall::kFileRemove, [](Files& f) { return f.remove_file("/in/a.json"); }),
            codes::kFileUnwritable);
  EXPECT_EQ(code_of(SeamCall::kFileRemoveTree, [](Files& f) { return f.remove_tree("/in"); }),
            codes::kFileUnwritable);
  EXPECT_EQ(code_of(SeamCall::kFileSyncDirectory, [](Files& f) { return f.sync_directory("/in"); }),
            codes::kFileUnwritable);
  EXPECT_EQ(code_of(SeamCall::kFileFreeBytes, [](Files& f) { return f.free_bytes("/in"); }),
            codes::kFileUnreadable);
}

TEST_F(FaultingFilesTest, EachCallOfAFileBeingWritten_FailsByItsNaturalCode) {
  const std::string text = "text";
  for (const auto call : {SeamCall::kFileWrite, SeamCall::kFileSync, SeamCall::kFileClose}) {
    const auto plan = plan_of(call);
    FaultInjector injector(plan, 0);
    FaultingFileSystem files(memory_, injector, {});
    auto file = files.create("/in/" + std::string(seam_call_name(call))).value();
    const Status written = file->write_at(0, std::as_bytes(std::span(text)));
    const Status synced = file->sync();
    const Status closed = file->close();
    EXPECT_EQ(written.ok(), call != SeamCall::kFileWrite);
    EXPECT_EQ(synced.ok(), call != SeamCall::kFileSync);
    EXPECT_EQ(closed.ok(), call != SeamCall::kFileClose);
    for (const Status& status : {written, synced, closed}) {
      EXPECT_TRUE(status.ok() || status.refusal().code == codes::kFileUnwritable);
    }
  }
}

TEST(FaultingExecutor, Submission_IsRefusedBeforeAnyTask) {
  const auto plan = plan_of(SeamCall::kSubmit);
  FaultInjector injector(plan, 0);
  ThreadExecutor threads(2);
  FaultingExecutor executor(threads, injector);
  std::atomic<int> ran{0};
  EXPECT_THROW(executor.parallel_for(3, [&ran](std::size_t) { ++ran; }), RunError);
  EXPECT_EQ(ran.load(), 0);
  executor.parallel_for(3, [&ran](std::size_t) { ++ran; });
  EXPECT_EQ(ran.load(), 3);
}

TEST(FaultingExecutor, OneTaskThrows_TheOthersRun) {
  const auto plan = plan_of(SeamCall::kTask, 2);
  FaultInjector injector(plan, 0);
  ThreadExecutor threads(2);
  FaultingExecutor executor(threads, injector);
  std::atomic<int> ran{0};
  EXPECT_THROW(executor.parallel_for(3, [&ran](std::size_t) { ++ran; }), RunError);
  EXPECT_EQ(ran.load(), 2);
}

TEST(FaultingExecutor, TaskOfABatchThrows_ItsFinishSaysSoAndNotItsStart) {
  const auto plan = plan_of(SeamCall::kTask, 4);
  FaultInjector injector(plan, 0);
  ThreadExecutor threads(2);
  FaultingExecutor executor(threads, injector);
  std::atomic<int> ran{0};
  const std::function<void(std::size_t)> task = [&ran](std::size_t) { ++ran; };
  Batch sound{&task, 3, {}};
  Batch failing{&task, 3, {}};
  executor.start(sound);
  executor.start(failing);
  executor.finish(sound);
  EXPECT_THROW(executor.finish(failing), RunError);
  EXPECT_EQ(ran.load(), 5);
}

class FaultingDeviceTest : public testing::Test {
 protected:
  SteadyClock clock_;
  std::unique_ptr<FailureSignal> signal_ = make_local_failure_signal();
};

TEST_F(FaultingDeviceTest, Event_IsRefusedByName) {
  const auto plan = plan_of(SeamCall::kCreateEvent);
  FaultInjector injector(plan, 0);
  FaultingDevice device(make_cpu_device({}, clock_, *signal_), injector);
  EXPECT_THROW(static_cast<void>(device.create_event()), RunError);
  static_cast<void>(device.create_event());
}

TEST_F(FaultingDeviceTest, ClockThatJumpsInAWait_EndsItByItsDeadlineAndNoLaterOne) {
  // Readings: the deadline's, then one a wait. The second one jumps.
  const auto plan = plan_of(SeamCall::kClock, 2);
  FaultInjector injector(plan, 0);
  FaultingDevice device(make_cpu_device({}, clock_, *signal_), injector);
  std::atomic<bool> open{false};
  const EventId done = device.create_event();
  device.launch(StreamKind::kCompute,
                [&open] {
                  while (!open.load()) {
                  }
                },
                {});
  device.record(done, StreamKind::kCompute, {});
  const auto late = [&device] { return Deadline::after(device.clock().now(), 60 * kSecond); };
  const Status early = device.wait_host(done, late(), {});
  ASSERT_FALSE(early.ok());
  EXPECT_EQ(early.refusal().code, codes::kDeadlineExceeded);
  open.store(true);
  EXPECT_TRUE(device.wait_host(done, late(), {}).ok()) << "made by the clock that has jumped";
}

}  // namespace
}  // namespace dlo::platform
