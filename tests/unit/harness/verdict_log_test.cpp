// Goal: a rank's verdict file always says where the rank is and how it ended so far, also when the
// process is gone the moment after; damaged files are refused by name.
// Method: the log over files in memory, read back after each step.
#include "harness/verdict_log.h"

#include <gtest/gtest.h>

#include "base/codes.h"
#include "platform/posix/steady_clock.h"
#include "tests/support/memory_file_system.h"

namespace dlo::harness {
namespace {

class VerdictLogTest : public testing::Test {
 protected:
  [[nodiscard]] RankVerdict read() const { return read_verdict(files_, "/out", 3).value(); }

  test_support::MemoryFileSystem files_;
  platform::SteadyClock clock_;
  VerdictLog log_{files_, clock_, "/out", 3};
};

engine::RunReport torn_report(const std::string& own_code) {
  engine::RunReport report;
  report.outcome = engine::Outcome::kFailsClosed;
  report.code = "peer_failed";
  report.message = "rank 1 is gone";
  report.world_usable = false;
  report.own = engine::RankReport{};
  report.own->code = own_code;
  report.own->message = own_code.empty() ? "" : "its own words";
  report.own->weight_group = {1, 3};
  report.own->outputs = {{7, "digest"}};
  report.own->resources = engine::ResourceChange{};
  report.own->resources->before.threads = 2;
  report.own->resources->after.threads = 3;
  report.own->resources->before.thread_names = {"dlo", "dlo-mpi"};
  report.own->resources->after.thread_names = {"dlo", "dlo-mpi", "dlo-release"};
  return report;
}

TEST_F(VerdictLogTest, RankInAScenario_SaysSo) {
  log_.begin("first");
  EXPECT_EQ(read().rank, 3);
  EXPECT_EQ(read().running, "first");
  EXPECT_FALSE(read().crash_at_ns.has_value());
}

TEST_F(VerdictLogTest, Crash_IsNotedWithItsTime) {
  log_.begin("first");
  const Nanoseconds before = clock_.now();
  log_.note_crash();
  ASSERT_TRUE(read().crash_at_ns.has_value());
  EXPECT_GE(*read().crash_at_ns, before);
  EXPECT_EQ(read().running, "first");
}

TEST_F(VerdictLogTest, RankThatDidItsWork_RunsThoughTheJobBroke) {
  log_.begin("first");
  log_.end("first", torn_report(""));
  const RankVerdict verdict = read();
  EXPECT_EQ(verdict.running, "");
  ASSERT_EQ(verdict.endings.size(), 1U);
  EXPECT_EQ(verdict.endings[0].outcome, "runs");
  EXPECT_EQ(verdict.endings[0].code, "");
  EXPECT_EQ(verdict.endings[0].weight_group, (std::vector<int>{1, 3}));
  ASSERT_EQ(verdict.endings[0].outputs.size(), 1U);
  EXPECT_EQ(verdict.endings[0].outputs[0].request, 7U);
  EXPECT_EQ(verdict.endings[0].outputs[0].sha256, "digest");
  EXPECT_EQ(verdict.endings[0].leaks,
            std::vector<std::string>{"rank 0: leaked threads: 2 before, 3 after: dlo-release"});
  EXPECT_EQ(verdict.endings[0].resources->after.threads, 3U);
  EXPECT_EQ(verdict.endings[0].resources->after.thread_names,
            std::vector<std::string>{"dlo-release"});
}

TEST_F(VerdictLogTest, RankThatFailed_HasItsOwnWords) {
  log_.end("first", torn_report("copy_failed"));
  log_.end("second", engine::RunReport{});
  const RankVerdict verdict = read();
  ASSERT_EQ(verdict.endings.size(), 2U);
  EXPECT_EQ(verdict.endings[0].outcome, "fails_closed");
  EXPECT_EQ(verdict.endings[0].code, "copy_failed");
  EXPECT_EQ(verdict.endings[0].message, "its own words");
  EXPECT_EQ(verdict.endings[1].scenario, "second");
  EXPECT_EQ(verdict.endings[1].outcome, "runs");
}

TEST_F(VerdictLogTest, DamagedOrMissingFile_IsRefusedByName) {
  EXPECT_EQ(read_verdict(files_, "/out", 3).refusal().code, codes::kFileNotFound);
  files_.put("/out/verdicts/rank-3.json", "{\"rank\": 3");
  const auto damaged = read_verdict(files_, "/out", 3);
  ASSERT_FALSE(damaged.ok());
  EXPECT_EQ(damaged.refusal().code, codes::kInvalidValue);
  EXPECT_NE(damaged.refusal().message().find("rank-3.json"), std::string::npos);
}

}  // namespace
}  // namespace dlo::harness
