// Goal: what a gate writes says what happened, to scripts (JSON, JUnit) and people (Markdown), and
// no text breaks its format. Method: records of one good and one bad job.
#include "harness/gate/gate_files.h"

#include <gtest/gtest.h>

#include "tests/support/memory_file_system.h"
#include "tests/unit/harness/gate_fixtures.h"

namespace dlo::harness {
namespace {

GateRecord record_of(bool good) {
  const GateJob sweep = job_of(small_document(), {2});
  const GateJob crash = job_of(crash_document("all_gather"));
  JobFacts facts = good_crash_facts(crash);
  if (!good) {
    facts.verdicts.front().endings.clear();
    facts.orphans = {17};
    facts.last_words = "said <this> & \"that\"\x01";
  }
  GateRecord record;
  record.run.commit = "abc";
  record.run.command = "dlo gate";
  record.jobs = {judge_job(sweep, good_sweep_facts(sweep)), judge_job(crash, facts)};
  record.faults = count_faults({sweep, crash}, record.jobs);
  record.skipped = {{.name = "huge", .topology = {}, .reason = "needs 64 ranks"}};
  return record;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(GateJson, GoodGate_HasJobsRanksAndTotals) {
  const Json json = to_json(record_of(true));
  EXPECT_EQ(json.at("schema_version"), kGateSchemaVersion);
  EXPECT_EQ(json.at("passed"), true);
  EXPECT_EQ(json.at("scenarios"), 2);
  EXPECT_EQ(json.at("as_expected"), 2);
  EXPECT_EQ(json.at("faults").at("ended_by_name"), 1);
  EXPECT_EQ(json.at("jobs").at(0).at("kind"), "sweep");
  EXPECT_EQ(json.at("jobs").at(1).at("kind"), "crash");
  EXPECT_EQ(json.at("jobs").at(1).at("ranks").at(0).at("named_after_s"), 1.0);
  EXPECT_TRUE(json.at("jobs").at(1).at("ranks").at(1).at("named_after_s").is_null());
  EXPECT_EQ(json.at("skipped").at(0).at("name"), "huge");
}

TEST(GateJson, BadGate_IsClosed) {
  const Json json = to_json(record_of(false));
  EXPECT_EQ(json.at("passed"), false);
  EXPECT_EQ(json.at("as_expected"), 1);
  EXPECT_EQ(json.at("faults").at("leaked"), 1);
  EXPECT_FALSE(json.at("jobs").at(1).at("findings").empty());
}

TEST(GateJson, GateWithoutJobs_IsClosed) {
  EXPECT_FALSE(GateRecord{}.passed());
}

TEST(GateJunit, GoodGate_HasACaseAScenarioAndAJob) {
  const std::string xml = to_junit(record_of(true));
  EXPECT_TRUE(contains(xml, R"(<testsuites name="dlo gate" tests="4" failures="0" errors="0")"));
  EXPECT_TRUE(contains(xml, R"(<testsuite name="sweep_np2" tests="2" failures="0")"));
  EXPECT_TRUE(contains(xml, R"(<testcase classname="lost" name="lost" time="0.000"/>)"));
  EXPECT_TRUE(contains(xml, R"(<testcase classname="sweep_np2" name="job" time="1.500"/>)"));
  EXPECT_FALSE(contains(xml, "<failure"));
}

TEST(GateJunit, BadGate_HasItsFailuresAndEscapesThem) {
  const std::string xml = to_junit(record_of(false));
  EXPECT_TRUE(contains(xml, R"(tests="4" failures="2")"));
  EXPECT_TRUE(contains(xml, R"(<failure message="rank 0 left no verdict">)"));
  EXPECT_TRUE(contains(xml, R"(<failure message="processes outlived the job: 17">)"));
  EXPECT_TRUE(contains(xml, "said &lt;this&gt; &amp; &quot;that&quot; </system-out>"));
  EXPECT_FALSE(contains(xml, "\x01"));
}

TEST(GateMarkdown, Verdict_StandsFirstAndLostRanksInTheirTable) {
  test_support::MemoryFileSystem files;
  ASSERT_TRUE(files.make_directories("/out").ok());
  ASSERT_TRUE(write_gate(files, "/out", record_of(true)).ok());
  const std::string text = files.read_text("/out/gate.md", 1U << 20U).value();
  EXPECT_TRUE(contains(text, "**All 2 scenarios in 2 jobs as expected.**"));
  EXPECT_TRUE(contains(text, "| lost | 0 | shares weights | peer_failed | 1.00 |"));
  EXPECT_FALSE(contains(text, "What fell short"));
  for (const char* name : {"/out/gate.json", "/out/gate.xml", "/out/gate.html"}) {
    EXPECT_TRUE(files.stat(name).ok()) << name;
  }
}

TEST(GateMarkdown, BadGate_ListsWhatFellShort) {
  const Report report = gate_report(record_of(false));
  EXPECT_EQ(report.summary, "1 of 2 scenarios as expected; the gate is closed.");
  EXPECT_EQ(report.tables.front().title, "What fell short");
  EXPECT_EQ(report.tables.front().rows.size(), 2U);
}

TEST(GateSummary, BadJob_IsSaid) {
  const std::string text = gate_summary(record_of(false));
  EXPECT_TRUE(contains(text, "fell short"));
  EXPECT_TRUE(contains(text, "1 injected, 0 survived with identical bytes, 0 ended by name"));
}

}  // namespace
}  // namespace dlo::harness
