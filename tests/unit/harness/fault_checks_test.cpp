// Goal: a run that failed closed still shows that the fault was met, that everybody it concerns
// ended with its code, and that nobody else was touched. Method: reports bent in one place a test.
#include "harness/fault_checks.h"

#include <gtest/gtest.h>

#include "tests/unit/harness/harness_fixtures.h"

namespace dlo::harness {
namespace {

// Rank 1 of three fails by the plan; with AllGather the others end with its code.
class FaultChecksTest : public testing::Test {
 protected:
  void make(const std::string& transfer) {
    Json document = small_document();
    document["topology"] = {{"dp", 3}};
    document["transfer"] = transfer;
    document["requests"] = {{"count", 3}};
    document["faults"] = Json::parse(R"({"plan": {"rules": [{"call": "gather", "rank": 1}]}})");
    document["expect"] = Json::parse(R"([{"outcome": "fails_closed", "code": "copy_failed"}])");
    scenario_ = scenario_from(document);
    reference_ = good_report(scenario_);
    report_ = reference_;
    report_.outcome = engine::Outcome::kFailsClosed;
    for (engine::RankReport& rank : report_.ranks) {
      const bool concerned = transfer == "all_gather" || rank.rank == 1;
      rank.weight_group = transfer == "all_gather" ? std::vector<int>{0, 1, 2} : std::vector<int>{};
      rank.code = concerned ? "copy_failed" : "";
      rank.fault_count = rank.rank == 1 ? 1 : 0;
    }
  }
  [[nodiscard]] std::string findings() const {
    std::string text;
    for (const std::string& finding :
         check_endings(scenario_, report_, Reference{.name = "r", .report = &reference_})) {
      text += finding + "\n";
    }
    return text;
  }
  [[nodiscard]] bool finds(const std::string& text) const {
    return findings().find(text) != std::string::npos;
  }

  Scenario scenario_;
  engine::RunReport reference_;
  engine::RunReport report_;
};

TEST_F(FaultChecksTest, GroupEndsWithOneCode_Passes) {
  make("all_gather");
  EXPECT_EQ(findings(), "");
}

TEST_F(FaultChecksTest, MemberWithAnotherCode_IsFound) {
  make("all_gather");
  report_.ranks[2].code = "deadline_exceeded";
  EXPECT_TRUE(finds("rank 2 ended with 'deadline_exceeded'")) << findings();
}

TEST_F(FaultChecksTest, MemberThatWentOn_IsFound) {
  make("all_gather");
  report_.ranks[0].code.clear();
  EXPECT_TRUE(finds("rank 0 ended with ''")) << findings();
}

TEST_F(FaultChecksTest, FaultThatIsNeverMet_IsFound) {
  make("all_gather");
  report_.ranks[1].fault_count = 0;
  EXPECT_TRUE(finds("no fault of the plan was met")) << findings();
}

TEST_F(FaultChecksTest, IndependentReplicaGoesOn_Passes) {
  make("rank_local");
  EXPECT_EQ(findings(), "");
}

TEST_F(FaultChecksTest, IndependentReplicaThatFailsToo_IsFound) {
  make("rank_local");
  report_.ranks[2].code = "copy_failed";
  EXPECT_TRUE(finds("rank 2 failed (copy_failed) without a fault in its weight group"))
      << findings();
}

TEST_F(FaultChecksTest, IndependentReplicaWithOtherBytes_IsFound) {
  make("rank_local");
  report_.ranks[2].outputs.front().sha256 = "another";
  EXPECT_TRUE(finds("rank 2: output bytes of request 2 differ")) << findings();
}

TEST_F(FaultChecksTest, IndependentReplicaThatAnswersNothing_IsFound) {
  make("rank_local");
  report_.ranks[0].outputs.clear();
  EXPECT_TRUE(finds("rank 0 did not fail and answered nothing")) << findings();
}

class CheckLeaksTest : public testing::Test {
 protected:
  [[nodiscard]] std::size_t findings() const { return check_leaks(rank_).size(); }

  CheckLeaksTest() { rank_.resources = engine::ResourceChange{}; }

  engine::RankReport rank_;
};

TEST_F(CheckLeaksTest, NothingGrown_Passes) {
  EXPECT_EQ(findings(), 0U);
}

TEST_F(CheckLeaksTest, EachFigureThatGrows_IsFoundByItsName) {
  for (const auto& row : telemetry::resource_rows()) {
    rank_.resources = engine::ResourceChange{};
    rank_.rank = 3;
    rank_.resources->after.*row.figure = row.slack + 1;
    ASSERT_EQ(findings(), 1U) << row.name;
    EXPECT_EQ(check_leaks(rank_).front().find("rank 3: leaked " + std::string(row.name)), 0U);
  }
}

TEST_F(CheckLeaksTest, NobodyCounted_IsFound) {
  rank_.resources.reset();
  EXPECT_EQ(findings(), 1U);
}

TEST_F(CheckLeaksTest, BuffersGivenUpOnPurpose_AreNoLeakOfARankThatEndedByName) {
  rank_.resources->after.device_bytes = 4096;
  rank_.resources->after.pinned_bytes = 4096;
  rank_.abandoned_buffers = true;
  EXPECT_EQ(findings(), 2U) << "without a name it is one";
  rank_.code = "deadline_exceeded";
  EXPECT_EQ(findings(), 0U);
  rank_.resources->after.descriptors = 1;
  EXPECT_EQ(findings(), 1U) << "only memory is given up";
}

}  // namespace
}  // namespace dlo::harness
