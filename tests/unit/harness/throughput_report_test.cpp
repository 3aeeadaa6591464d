// Goal: the report of a throughput run shows its arms, and says which figures are left out for want
// of the device's counters, and why.
// Method: reports made by hand, through the results, to Markdown and HTML.
#include <gtest/gtest.h>

#include <array>
#include <span>

#include "harness/report_html.h"
#include "harness/report_markdown.h"
#include "harness/report_model.h"
#include "harness/report_throughput.h"
#include "harness/runner.h"
#include "tests/unit/harness/throughput_fixtures.h"

namespace dlo::harness {
namespace {

// All arms of these ranks as NVML leaves them where it is not there.
engine::RunReport without_counters(engine::RunReport report, std::span<const std::size_t> ranks) {
  for (const std::size_t rank : ranks) {
    for (std::size_t arm = 0; arm < report.ranks[rank].throughput->arms.size(); ++arm) {
      report = bent_arm(std::move(report), rank, arm, [](engine::ArmMeasurement& measured) {
        measured.counters = {};
        measured.counters.absent_reason = "no <libnvidia-ml.so.1>";
      });
    }
  }
  return report;
}

Results results_of(const engine::RunReport& report) {
  Results results;
  results.scenarios = {make_result(scenario_from(timed_document()), report, std::nullopt)};
  return results;
}

TEST(ThroughputReport, TableAndChart_ShowTheArms) {
  const Scenario scenario = scenario_from(timed_document());
  Results results;
  results.scenarios = {make_result(scenario, timed_report(scenario), std::nullopt)};
  const std::string text = to_markdown(make_report(results));
  EXPECT_NE(text.find("## Throughput"), std::string::npos);
  EXPECT_NE(text.find("| streamed | 114.50 |"), std::string::npos) << text;
  EXPECT_NE(text.find("## Forward: timed"), std::string::npos);
  EXPECT_NE(text.find("114.50 ms"), std::string::npos);
  EXPECT_NE(text.find("`ARM.link_share_percent`"), std::string::npos);
}

TEST(ThroughputReport, HostTime_StandsBesideWhatTheCallsTakeAlone) {
  const Scenario scenario = scenario_from(timed_document());
  auto report = timed_report(scenario);
  auto changed = *report.ranks[0].throughput;
  for (const auto& figure : {engine::CalibrationFigure{"event_ns", "ns", 250, 250, 250, 8},
                             engine::CalibrationFigure{"copy_ns", "ns", 2000, 2000, 2000, 8},
                             engine::CalibrationFigure{"gather_ns", "ns", 3500, 3500, 3500, 8}}) {
    changed.calibration.figures.push_back(figure);
  }
  changed.arms[1].blocks->h2d_calls = 3;  // of three blocks
  report.ranks[0].throughput = std::make_shared<engine::ThroughputReport>(changed);
  Results results;
  results.scenarios = {make_result(scenario, report, std::nullopt)};
  const std::string text = to_markdown(make_report(results));
  EXPECT_NE(text.find("| 5.0 (7.5) |"), std::string::npos) << text;
}

TEST(ThroughputReport, AbsentCounters_AreNamedOnceUnderTheTable) {
  const auto whole = timed_report(scenario_from(timed_document()));
  const std::array<std::size_t, 2> all{0, 1};
  const Report report = make_report(results_of(without_counters(whole, all)));
  const std::string left_out =
      "timed: left out for want of the device counters: power (power_w), HBM in use "
      "(hbm_used_bytes), NVLink bytes a forward (nvlink_bytes_per_forward). ";
  const std::string markdown = to_markdown(report);
  const std::size_t at = markdown.find("|\n\n" + left_out + "no <libnvidia-ml.so.1>\n\n");
  ASSERT_NE(at, std::string::npos) << markdown;
  EXPECT_GT(at, markdown.find("## Throughput"));
  EXPECT_LT(at, markdown.find("## Calibration"));
  EXPECT_EQ(markdown.find(left_out, at + left_out.size()), std::string::npos)
      << "once for all arms";
  const std::string html = to_html(report);
  EXPECT_NE(html.find("</table></div>\n<p class=\"muted\">" + left_out +
                      "no &lt;libnvidia-ml.so.1&gt;</p>\n<h2>Calibration</h2>"),
            std::string::npos)
      << html;
}

TEST(ThroughputReport, CountersOfOneRankAbsent_AreSaidToBeOfTheOthers) {
  auto whole = timed_report(scenario_from(timed_document()));
  for (std::size_t arm = 0; arm < whole.ranks[0].throughput->arms.size(); ++arm) {
    whole = bent_arm(std::move(whole), 0, arm, [](engine::ArmMeasurement& measured) {
      measured.counters.nvlink_received_bytes = 8;
      measured.counted_forwards = 1;
    });
  }
  EXPECT_TRUE(throughput_table(results_of(whole)).notes.empty());
  const std::array<std::size_t, 1> second{1};
  const auto notes = throughput_table(results_of(without_counters(whole, second))).notes;
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0],
            "timed: a device counter is missing on some ranks, or the limit of the power: no "
            "<libnvidia-ml.so.1>");
}

TEST(ThroughputReport, ResultsOfOlderRuns_HaveNoNotes) {
  auto results = results_of(timed_report(scenario_from(timed_document())));
  for (Json& arm : results.scenarios[0].throughput.at("arms")) {
    arm.erase("counters_absent");
  }
  EXPECT_TRUE(throughput_table(results).notes.empty());
}

}  // namespace
}  // namespace dlo::harness
