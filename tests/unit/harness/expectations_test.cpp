// Goal: the verdict bites: each way in which a run can fall short is found, and a run that does
// everything right passes. Method: a good report, bent in one place per test.
#include "harness/expectations.h"

#include <gtest/gtest.h>

#include "harness/metrics.h"
#include "tests/unit/harness/harness_fixtures.h"

namespace dlo::harness {
namespace {

Scenario all_gather_scenario() {
  Json document = small_document();
  document["topology"]["dp"] = 2;
  document["transfer"] = "all_gather";
  document["requests"]["count"] = 3;
  document["compare_with"] = "resident";
  return scenario_from(document);
}

struct Case {
  Scenario scenario = all_gather_scenario();
  engine::RunReport report = good_report(scenario);
  engine::RunReport resident = good_report(scenario);

  [[nodiscard]] Verdict verdict() const {
    return judge(scenario, report, Reference{.name = "ref", .report = &resident}, std::nullopt,
                 metrics_of(report));
  }
  [[nodiscard]] std::string first_failure() const {
    const Verdict found = verdict();
    EXPECT_FALSE(found.passed);
    return found.failed_checks.empty() ? "" : found.failed_checks.front();
  }
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Verdict, GoodRun_Passes) {
  const Verdict verdict = Case().verdict();
  EXPECT_TRUE(verdict.passed) << verdict.failed_checks.front();
  EXPECT_EQ(verdict.bytes_equal, true);
}

TEST(Verdict, WrongOutcomeExpected_Fails) {
  Case run;
  run.scenario.expected = {engine::Outcome::kRejected, "CFG-04"};
  EXPECT_TRUE(contains(run.first_failure(), "expected rejected (CFG-04), got runs"));
}

TEST(Verdict, WrongCodeExpected_Fails) {
  Case run;
  run.scenario.expected = {engine::Outcome::kRejected, "CFG-04"};
  run.report = {};
  run.report.outcome = engine::Outcome::kRejected;
  run.report.code = "CFG-05";
  run.report.message = "because";
  EXPECT_TRUE(contains(run.first_failure(), "got rejected (CFG-05): because"));
}

TEST(Verdict, ExpectedRefusal_Passes) {
  Case run;
  run.scenario.expected = {engine::Outcome::kRejected, "CFG-04"};
  run.report = {};
  run.report.outcome = engine::Outcome::kRejected;
  run.report.code = "CFG-04";
  EXPECT_TRUE(run.verdict().passed);
  EXPECT_FALSE(run.verdict().bytes_equal.has_value());
}

TEST(Verdict, OneOutputDiffers_FailsAndSaysWhich) {
  Case run;
  run.report.ranks[1].outputs[0].sha256 = "other";
  EXPECT_TRUE(contains(run.first_failure(), "request 1 differ"));
  EXPECT_EQ(run.verdict().bytes_equal, false);
}

TEST(Verdict, OutputDigestDiffers_Fails) {
  Case run;
  run.report.output_digest = "other";
  EXPECT_EQ(run.verdict().bytes_equal, false);
  EXPECT_TRUE(contains(run.first_failure(), "output digest"));
}

TEST(Verdict, ReferenceDidNotRun_FailsWithoutAWordOnBytes) {
  Case run;
  run.resident = {};
  run.resident.outcome = engine::Outcome::kFailsClosed;
  EXPECT_TRUE(contains(run.first_failure(), "reference ref did not run"));
  EXPECT_FALSE(run.verdict().bytes_equal.has_value());
}

TEST(Verdict, RequestNotAnswered_Fails) {
  Case run;
  run.report.ranks[1].outputs.clear();
  run.resident.ranks[1].outputs.clear();
  EXPECT_TRUE(contains(run.first_failure(), "request 1 was not answered"));
}

TEST(Verdict, TwoRanksAnswerDifferently_Fails) {
  Case run;
  run.report.ranks[0].outputs.push_back({1, "other"});
  EXPECT_TRUE(contains(run.first_failure(), "request 1 with other bytes"));
}

TEST(Verdict, H2dDiffersFromThePlan_Fails) {
  Case run;
  run.report.ranks[1].traffic.h2d_bytes += 256;
  EXPECT_TRUE(contains(run.first_failure(), "rank 1: ledger differs from the plan"));
}

TEST(Verdict, GatheredBytesDifferFromThePlan_Fails) {
  Case run;
  run.report.ranks[0].traffic.gather_bytes_planned = 256;
  EXPECT_TRUE(contains(run.first_failure(), "rank 0: ledger differs from the plan"));
}

TEST(Verdict, DevicePeakAboveItsLimit_Fails) {
  Case run;
  run.report.ranks[1].owned.device_peak = 601;
  EXPECT_TRUE(contains(run.first_failure(), "device peak of 601 bytes is above the limit of 600"));
}

TEST(Verdict, HostBytesAboveThePromise_Fails) {
  Case run;
  run.report.ranks[1].owned.host_private_now = 1001;
  EXPECT_TRUE(contains(run.first_failure(), "owns 1001 host bytes"));
}

TEST(Verdict, ComponentLeftBehindItsStage_IsFoundInAStreamedRunAlone) {
  Case run;
  run.report.ranks[1].owned.component_now = 7;
  EXPECT_TRUE(contains(run.first_failure(), "rank 1: 7 device bytes of a component"));
  run.scenario.options = {};
  for (const auto& failure : run.verdict().failed_checks) {
    EXPECT_FALSE(contains(failure, "of a component")) << failure;
  }
}

TEST(Verdict, RankMissing_Fails) {
  Case run;
  run.report.ranks.pop_back();
  EXPECT_TRUE(contains(run.first_failure(), "1 ranks reported, the topology has 2"));
}

TEST(Verdict, OtherTransferThanAsked_Fails) {
  Case run;
  run.report.ranks[1].effective.transfer = contracts::Transfer::kRankLocal;
  EXPECT_TRUE(contains(run.first_failure(), "asked for all_gather and did rank_local"));
}

TEST(Verdict, DowngradeThatTheOutcomeHides_Fails) {
  Case run;
  run.report.ranks[1].effective.downgrades.push_back({"pin_disabled", "pageable"});
  EXPECT_TRUE(contains(run.first_failure(), "rank 1 reports a downgrade"));
}

TEST(Verdict, MappedRunThatWasAskedFor_Passes) {
  Json document = small_document();
  document["transfer"] = "rank_local";
  document["backing"] = "checkpoint_mmap";
  Case run{.scenario = scenario_from(document)};
  EXPECT_EQ(run.report.ranks[0].effective.transfer, contracts::Transfer::kStaged);
  EXPECT_TRUE(run.verdict().passed) << run.verdict().failed_checks.front();
}

TEST(Verdict, OtherBackingThanAsked_Fails) {
  Case run;
  for (auto& rank : run.report.ranks) {
    rank.effective.backing = contracts::Backing::kOrdinary;
    rank.mapped_files.clear();
  }
  EXPECT_TRUE(contains(run.first_failure(),
                       "rank 0 was to have backing checkpoint_mmap and has ordinary without"));
}

TEST(Verdict, RanksThatMapDifferentInodes_Fail) {
  Case run;
  run.report.ranks[1].mapped_files[0].inode = 4712;
  EXPECT_TRUE(contains(run.first_failure(), "ranks 0 and 1 mapped different files"));
}

TEST(Verdict, MappedBackingWithoutFiles_Fails) {
  Case run;
  for (auto& rank : run.report.ranks) {
    rank.mapped_files.clear();
  }
  EXPECT_TRUE(contains(run.first_failure(), "has backing checkpoint_mmap and mapped 0 files"));
}

TEST(Verdict, MeasureOutsideItsReference_FailsButStaysSane) {
  Case run;
  run.scenario.measures = {{.metric = "host_private_total_bytes",
                            .reference = 1900,
                            .lower = std::nullopt,
                            .upper = 0.01}};
  EXPECT_TRUE(contains(run.first_failure(), "host_private_total_bytes is 2000 bytes, above"));
  EXPECT_TRUE(run.verdict().sane);
  run.scenario.measures[0].upper = 0.06;
  EXPECT_TRUE(run.verdict().passed);
}

TEST(Metrics, OverRanks_SumsMaximaAndMedians) {
  Case run;
  run.report.ranks[1].traffic.h2d_bytes = 8000;
  run.report.ranks[1].owned.host_private_now = 900;
  run.report.ranks[1].owned.device_peak = 550;
  run.report.ranks[1].forward_ms = {8.0, 16.0};
  const auto metrics = metrics_of(run.report);
  ASSERT_EQ(metrics.size(), metric_definitions().size());
  const auto value = [&](std::string_view name) {
    for (const Metric& metric : metrics) {
      if (metric.name == name) {
        return metric.value;
      }
    }
    return -1.0;
  };
  EXPECT_EQ(value("h2d_bytes"), 12000);
  EXPECT_EQ(value("h2d_bytes_per_forward"), 1500);
  EXPECT_EQ(value("host_private_bytes"), 1000);
  EXPECT_EQ(value("host_private_total_bytes"), 1900);
  EXPECT_EQ(value("device_peak_bytes"), 550);
  EXPECT_EQ(value("pss_total_bytes"), 20000);
  EXPECT_EQ(value("weight_pss_bytes"), 9000);
  EXPECT_EQ(value("weight_copies"), 3.0);
  EXPECT_EQ(value("forward_ms"), 4.0);
}

}  // namespace
}  // namespace dlo::harness
