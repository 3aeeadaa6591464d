// Goal: a job passes only when everything planned ran as its scenario expects, and every survivor
// of a lost rank did its part: each way to fall short is found and named.
// Method: facts of good jobs, bent in one place a test.
#include "harness/gate/gate_judge.h"

#include <gtest/gtest.h>

#include "tests/unit/harness/gate_fixtures.h"

namespace dlo::harness {
namespace {

class CrashJobTest : public testing::Test {
 protected:
  explicit CrashJobTest(const std::string& transfer = "all_gather")
      : job_(job_of(crash_document(transfer, 3))), facts_(good_crash_facts(job_)) {}

  ScenarioEnding& ending_of(std::size_t rank) { return facts_.verdicts.at(rank).endings.back(); }
  [[nodiscard]] std::string findings() const { return findings_of(judge_job(job_, facts_)); }
  [[nodiscard]] bool finds(const std::string& text) const {
    return findings().find(text) != std::string::npos;
  }

  GateJob job_;
  JobFacts facts_;
};

class ReplicaJobTest : public CrashJobTest {
 protected:
  ReplicaJobTest() : CrashJobTest("rank_local") {}
};

TEST_F(CrashJobTest, EverySurvivorNamesTheLostRank_Passes) {
  const JobVerdict verdict = judge_job(job_, facts_);
  EXPECT_TRUE(verdict.passed()) << findings();
  ASSERT_EQ(verdict.rank_rows.size(), 3U);
  EXPECT_EQ(verdict.rank_rows[1].part, "killed");
  EXPECT_EQ(verdict.rank_rows[2].part, "shares weights");
  EXPECT_EQ(verdict.rank_rows[2].named_after_s, 1.0);
  const FaultTotals totals = count_faults({job_}, {verdict});
  EXPECT_EQ(totals.injected, 1U);
  EXPECT_EQ(totals.ended_by_name, 1U);
  EXPECT_EQ(totals.hung + totals.leaked + totals.different_bytes + totals.survived, 0U);
}

TEST_F(CrashJobTest, CrashThatIsNeverMet_IsFound) {
  facts_.verdicts[1].crash_at_ns.reset();
  EXPECT_TRUE(finds("rank 1 never came to the place")) << findings();
}

TEST_F(CrashJobTest, SurvivorWithoutAVerdict_IsFound) {
  facts_.verdicts.pop_back();
  EXPECT_TRUE(finds("rank 2 left no verdict")) << findings();
}

TEST_F(CrashJobTest, SurvivorWithAnotherCode_IsFound) {
  ending_of(2).code = "deadline_exceeded";
  EXPECT_TRUE(
      finds("rank 2: expected fails_closed (peer_failed), got fails_closed "
            "(deadline_exceeded)"))
      << findings();
}

TEST_F(CrashJobTest, SurvivorThatDoesNotNameTheRank_IsFound) {
  ending_of(0).message = "somebody ended";
  EXPECT_TRUE(finds("rank 0 does not name rank 1")) << findings();
}

TEST_F(CrashJobTest, SurvivorThatTakesTooLong_IsFound) {
  ending_of(2).ended_at_ns = 2 * kSecond + kNamedWithin + 1;
  EXPECT_TRUE(finds("10 s are allowed")) << findings();
}

TEST_F(CrashJobTest, SurvivorThatWentOn_IsFound) {
  ending_of(2).outcome = "runs";
  ending_of(2).code.clear();
  EXPECT_TRUE(finds("rank 2: expected fails_closed (peer_failed), got runs")) << findings();
}

TEST_F(CrashJobTest, AnotherWeightGroupThanTheTopologys_IsFound) {
  ending_of(0).weight_group = {0, 1};
  EXPECT_TRUE(finds("reports the weight group [0, 1], the topology has [0, 1, 2]")) << findings();
}

TEST_F(CrashJobTest, HangOrphanAndLeftover_AreFoundAndCounted) {
  facts_.timed_out = true;
  facts_.orphans = {4711};
  facts_.leftover_files = {"/dev/shm/x/segment"};
  EXPECT_TRUE(finds("hung: did not end within its deadline; rank 1 was in lost")) << findings();
  EXPECT_TRUE(finds("processes outlived the job: 4711")) << findings();
  EXPECT_TRUE(finds("shared memory is left over: /dev/shm/x/segment")) << findings();
  const FaultTotals totals = count_faults({job_}, {judge_job(job_, facts_)});
  EXPECT_EQ(totals.hung, 1U);
  EXPECT_EQ(totals.leaked, 1U);
}

TEST_F(CrashJobTest, SurvivorThatHoldsMoreThanBefore_IsFoundAndCounted) {
  ending_of(2).leaks = {"rank 2: leaked descriptors: 12 before, 13 after"};
  EXPECT_TRUE(finds("rank 2: leaked descriptors")) << findings();
  EXPECT_EQ(count_faults({job_}, {judge_job(job_, facts_)}).leaked, 1U);
}

TEST_F(CrashJobTest, StoppedRankAndAGoodExit_IsFound) {
  job_ = job_of(crash_document("all_gather", 3, "rank_stops"));
  EXPECT_TRUE(finds("mpirun ended with 0 although a rank was lost")) << findings();
  facts_.succeeded = false;
  EXPECT_EQ(findings(), "");
}

TEST_F(CrashJobTest, JobThatDidNotStart_IsOneFinding) {
  facts_ = JobFacts{};
  facts_.ended = "no such program";
  EXPECT_EQ(findings(), "the job did not start: no such program\n");
}

TEST_F(ReplicaJobTest, IndependentReplicaGoesOn_Passes) {
  const JobVerdict verdict = judge_job(job_, facts_);
  EXPECT_TRUE(verdict.passed()) << findings();
  EXPECT_EQ(verdict.rank_rows[0].part, "independent");
  EXPECT_FALSE(verdict.rank_rows[0].named_after_s.has_value());
  EXPECT_EQ(verdict.scenarios.size(), 2U);
}

TEST_F(ReplicaJobTest, ReplicaThatFailsToo_IsFound) {
  ending_of(2) = ending("lost", "peer_failed", {});
  EXPECT_TRUE(finds("rank 2 shares nothing with rank 1 and ended with fails_closed (peer_failed)"))
      << findings();
}

TEST_F(ReplicaJobTest, ReplicaWithOtherBytes_IsFoundAndCounted) {
  ending_of(0).outputs.front().sha256 = "another";
  EXPECT_TRUE(finds("rank 0: output bytes of request 0 differ")) << findings();
  EXPECT_EQ(count_faults({job_}, {judge_job(job_, facts_)}).different_bytes, 1U);
}

TEST_F(ReplicaJobTest, ReplicaThatAnswersNothing_IsFound) {
  ending_of(0).outputs.clear();
  EXPECT_TRUE(finds("rank 0 answered no request")) << findings();
}

TEST_F(ReplicaJobTest, ReferenceThatFails_IsFound) {
  facts_.verdicts[2].endings.front().code = "pin_failed";
  EXPECT_TRUE(finds("rank 2 ended with 'runs (pin_failed)'")) << findings();
}

class SweepJobTest : public testing::Test {
 protected:
  [[nodiscard]] std::string findings() const { return findings_of(judge_job(job_, facts_)); }
  [[nodiscard]] bool finds(const std::string& text) const {
    return findings().find(text) != std::string::npos;
  }

  GateJob job_ = job_of(small_document(), {2});
  JobFacts facts_ = good_sweep_facts(job_);
};

TEST_F(SweepJobTest, EverythingAsExpected_Passes) {
  EXPECT_TRUE(judge_job(job_, facts_).passed()) << findings();
}

TEST_F(SweepJobTest, ScenarioThatDidNotRun_IsFound) {
  facts_.results->scenarios.clear();
  EXPECT_TRUE(finds("small: did not run")) << findings();
  facts_.results.reset();
  EXPECT_TRUE(finds("small: did not run")) << findings();
}

TEST_F(SweepJobTest, OutcomeThatTheFileDoesNotExpect_IsFoundThoughTheJobPassedIt) {
  facts_.results->scenarios[0].outcome = "falls_back";
  facts_.results->scenarios[0].code = "pin_disabled";
  EXPECT_TRUE(finds("expected runs, got falls_back (pin_disabled)")) << findings();
}

TEST_F(SweepJobTest, FailedChecks_AreTaken) {
  facts_.results->scenarios[0].passed = false;
  facts_.results->scenarios[0].failed_checks = {"ledger differs"};
  facts_.succeeded = false;
  EXPECT_EQ(findings(), "small: ledger differs\n");
}

TEST_F(SweepJobTest, ExitCodeAgainstTheResults_IsFound) {
  facts_.succeeded = false;
  facts_.ended = "signal 11";
  EXPECT_TRUE(finds("ended with signal 11 although all is as expected")) << findings();
}

TEST_F(SweepJobTest, ScenarioThatNobodyPlanned_IsFound) {
  facts_.results->scenarios.push_back(facts_.results->scenarios.front());
  EXPECT_TRUE(finds("2 scenarios ran, 1 were planned")) << findings();
}

}  // namespace
}  // namespace dlo::harness
