// Goal: a report is a function of results.json alone, reads as agreed and escapes what it shows.
// Method: a stored results file regenerates the stored reports byte for byte; small results for
// the corners. After a wanted change, `dlo report tests/golden/report` renews the stored files.
#include <gtest/gtest.h>

#include "base/codes.h"
#include "harness/report_files.h"
#include "harness/report_html.h"
#include "harness/report_markdown.h"
#include "harness/report_model.h"
#include "harness/results.h"
#include "harness/summary.h"
#include "platform/posix/posix_file_system.h"
#include "tests/support/memory_file_system.h"

namespace dlo::harness {
namespace {

constexpr std::uint64_t kTextMax = 64 << 20;

ScenarioResult passing(const std::string& name) {
  ScenarioResult scenario;
  scenario.name = name;
  scenario.model = "wan_tiny, F32";
  scenario.options = {{"enable_distributed_layerwise_offload", true}, {"dlo_use_allgather", false}};
  scenario.outcome = "runs";
  scenario.expected_outcome = "runs";
  scenario.passed = true;
  scenario.bytes_equal = true;
  scenario.metrics = {
      {.name = "h2d_bytes", .value = 10, .unit = "bytes", .samples = 1, .limit = 10},
      {.name = "gather_bytes", .value = 0, .unit = "bytes", .samples = 1, .limit = 0}};
  return scenario;
}

TEST(Report, StoredResults_RegenerateTheStoredReports) {
  const platform::PosixFileSystem files;
  const platform::Path folder = DLO_REPORT_GOLDEN_DIR;
  const auto results = read_results(files, folder);
  ASSERT_TRUE(results.ok()) << results.refusal().message();
  const Report report = make_report(*results);
  EXPECT_EQ(to_markdown(report), files.read_text(folder / kMarkdownFileName, kTextMax).value());
  EXPECT_EQ(to_html(report), files.read_text(folder / kHtmlFileName, kTextMax).value());
}

TEST(Report, StoredResults_SurviveTheRoundTrip) {
  const platform::PosixFileSystem files;
  const platform::Path folder = DLO_REPORT_GOLDEN_DIR;
  const auto results = read_results(files, folder);
  ASSERT_TRUE(results.ok()) << results.refusal().message();
  EXPECT_EQ(to_json(*results).dump(1) + "\n",
            files.read_text(folder / kResultsFileName, kTextMax).value());
}

TEST(Report, ScenarioThatFellShort_IsSaidFirst) {
  Results results;
  results.scenarios = {passing("good"), passing("bad")};
  results.scenarios[1].passed = false;
  results.scenarios[1].bytes_equal = false;
  results.scenarios[1].failed_checks = {"output bytes of request 0 differ"};
  const Report report = make_report(results);
  EXPECT_EQ(report.summary_tone, Tone::kBad);
  EXPECT_TRUE(report.summary.starts_with("1 of 2 scenarios fell short."));
  EXPECT_EQ(report.tables.front().title, "What fell short");
  EXPECT_NE(to_markdown(report).find("**DIFFERENT**"), std::string::npos);
}

TEST(Report, NothingRan_IsNoSuccess) {
  EXPECT_EQ(make_report(Results{}).summary_tone, Tone::kBad);
}

TEST(Report, TextFromOutside_IsEscaped) {
  Results results;
  results.run.command = "dlo sweep <script>alert(1)</script>";
  results.scenarios = {passing("a|b")};
  results.scenarios[0].outcome = "rejected";
  results.scenarios[0].message = "x < y & \"z\"";
  const Report report = make_report(results);
  const std::string html = to_html(report);
  EXPECT_EQ(html.find("<script>"), std::string::npos);
  EXPECT_NE(html.find("x &lt; y &amp; &quot;z&quot;"), std::string::npos);
  EXPECT_NE(to_markdown(report).find("a\\|b"), std::string::npos);
}

TEST(Report, Html_ReachesForNothingOutside) {
  Results results;
  results.scenarios = {passing("a")};
  const std::string html = to_html(make_report(results));
  for (const char* outside : {"http://", "https://", "<script", "<link", "url("}) {
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
  }
}

TEST(Results, OtherSchemaVersion_IsRefused) {
  Json json = to_json(Results{});
  json["schema_version"] = 99;
  const auto results = results_from_json(json, "results.json");
  ASSERT_FALSE(results.ok());
  EXPECT_EQ(results.refusal().code, codes::kInvalidValue);
}

TEST(Results, NotResults_AreRefusedWithTheFile) {
  test_support::MemoryFileSystem files;
  EXPECT_EQ(read_results(files, "/r").refusal().code, codes::kFileNotFound);
  files.put("/r/results.json", "{");
  EXPECT_EQ(read_results(files, "/r").refusal().where, "/r/results.json");
  files.put("/r/results.json", "[]");
  EXPECT_EQ(read_results(files, "/r").refusal().code, codes::kInvalidValue);
}

TEST(Results, WriteThatFailsAnywhere_LeavesNoResultsFile) {
  for (std::size_t failing = 1;; ++failing) {
    test_support::MemoryFileSystem files;
    files.put_directory("/r");
    files.fail_change(failing);
    if (write_results(files, "/r", Results{}).ok()) {
      EXPECT_GT(failing, 3U);
      return;
    }
    const auto text = files.contents("/r/results.json");
    EXPECT_TRUE(!text.has_value() || Json::accept(*text)) << "change " << failing;
  }
}

TEST(Summary, Counts_AreByModelAndTopology) {
  Results results;
  results.scenarios = {passing("a"), passing("b")};
  results.scenarios[1].topology.dp = 2;
  results.skipped = {{.name = "c", .topology = {.dp = 8}, .reason = "needs 8 ranks, world has 2"}};
  const std::string text = summary_text(results);
  EXPECT_NE(text.find("DP 2"), std::string::npos) << text;
  EXPECT_NE(text.find("All 2 scenarios as expected, 1 skipped"), std::string::npos) << text;
}

}  // namespace
}  // namespace dlo::harness
