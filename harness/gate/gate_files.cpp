#include "harness/gate/gate_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "harness/report_html.h"
#include "harness/report_markdown.h"

namespace dlo::harness {
namespace {

Json to_json(const GateScenario& scenario) {
  return Json{{"name", scenario.name},       {"outcome", scenario.outcome},
              {"code", scenario.code},       {"expected", scenario.expected},
              {"passed", scenario.passed()}, {"findings", scenario.findings}};
}

Json to_json(const GateRank& rank) {
  return Json{{"rank", rank.rank},
              {"part", rank.part},
              {"outcome", rank.outcome},
              {"code", rank.code},
              {"named_after_s", rank.named_after_s ? Json(*rank.named_after_s) : Json(nullptr)}};
}

Json to_json(const JobVerdict& job) {
  Json scenarios = Json::array();
  for (const GateScenario& scenario : job.scenarios) {
    scenarios.push_back(to_json(scenario));
  }
  Json ranks = Json::array();
  for (const GateRank& rank : job.rank_rows) {
    ranks.push_back(to_json(rank));
  }
  const JobFacts& facts = job.facts;
  return Json{{"name", job.name},
              {"kind", job.crash ? "crash"
                       : job.own ? "own"
                                 : "sweep"},
              {"world_size", job.ranks},
              {"command", fmt::format("{}", fmt::join(facts.command, " "))},
              {"ended", facts.ended},
              {"timed_out", facts.timed_out},
              {"duration_s", facts.duration_s},
              {"orphans", facts.orphans},
              {"leftover_files", facts.leftover_files},
              {"passed", job.passed()},
              {"findings", job.findings},
              {"last_words", job.passed() ? "" : facts.last_words},
              {"scenarios", scenarios},
              {"ranks", ranks}};
}

Json to_json(const FaultTotals& faults) {
  return Json{{"injected", faults.injected},
              {"survived", faults.survived},
              {"ended_by_name", faults.ended_by_name},
              {"hung", faults.hung},
              {"different_bytes", faults.different_bytes},
              {"leaked", faults.leaked}};
}

std::size_t count_if_passed(const std::vector<GateScenario>& scenarios, bool passed) {
  return static_cast<std::size_t>(
      std::count_if(scenarios.begin(), scenarios.end(),
                    [passed](const GateScenario& one) { return one.passed() == passed; }));
}

Cell verdict_cell(bool passed) {
  return passed ? Cell{"ok", Tone::kGood} : Cell{"fell short", Tone::kBad};
}

Table job_table(const GateRecord& record) {
  Table table{.title = "Jobs",
              .lead = "",
              .group_title = "",
              .columns = {{"job", ColumnKind::kText},
                          {"ranks", ColumnKind::kNumber},
                          {"as expected", ColumnKind::kNumber},
                          {"seconds", ColumnKind::kNumber},
                          {"ended", ColumnKind::kShort},
                          {"verdict", ColumnKind::kShort}},
              .rows = {}};
  for (const JobVerdict& job : record.jobs) {
    table.rows.push_back(
        {.group = "",
         .cells = {
             {job.name, Tone::kPlain},
             {std::to_string(job.ranks), Tone::kPlain},
             {fmt::format("{} of {}", count_if_passed(job.scenarios, true), job.scenarios.size()),
              Tone::kPlain},
             {fmt::format("{:.1f}", job.facts.duration_s), Tone::kPlain},
             {job.facts.timed_out ? "by the gate" : job.facts.ended, Tone::kPlain},
             verdict_cell(job.passed())}});
  }
  return table;
}

Table crash_table(const GateRecord& record) {
  Table table{.title = "Lost ranks",
              .lead = "Who shares weights with a lost rank names it; who does not goes on.",
              .group_title = "scenario",
              .columns = {{"rank", ColumnKind::kNumber},
                          {"part", ColumnKind::kShort},
                          {"ended with", ColumnKind::kShort},
                          {"named after s", ColumnKind::kNumber}},
              .rows = {}};
  for (const JobVerdict& job : record.jobs) {
    for (const GateRank& rank : job.rank_rows) {
      table.rows.push_back(
          {.group = job.name,
           .cells = {{std::to_string(rank.rank), Tone::kPlain},
                     {rank.part, Tone::kPlain},
                     {rank.code.empty() ? rank.outcome : rank.code, Tone::kPlain},
                     {rank.named_after_s ? fmt::format("{:.2f}", *rank.named_after_s) : "–",
                      Tone::kPlain}}});
    }
  }
  return table;
}

Table finding_table(const GateRecord& record) {
  Table table{.title = "What fell short",
              .lead = "",
              .group_title = "job",
              .columns = {{"scenario", ColumnKind::kText}, {"finding", ColumnKind::kText}},
              .rows = {}};
  const auto add = [&table](const std::string& job, const std::string& scenario,
                            const std::vector<std::string>& findings) {
    for (const std::string& finding : findings) {
      table.rows.push_back(
          {.group = job, .cells = {{scenario, Tone::kPlain}, {finding, Tone::kBad}}});
    }
  };
  for (const JobVerdict& job : record.jobs) {
    add(job.name, "", job.findings);
    for (const GateScenario& scenario : job.scenarios) {
      add(job.name, scenario.name, scenario.findings);
    }
  }
  return table;
}

std::string verdict_sentence(const GateRecord& record) {
  return record.passed() ? fmt::format("All {} scenarios in {} jobs as expected.",
                                       record.scenario_count(), record.jobs.size())
                         : fmt::format("{} of {} scenarios as expected; the gate is closed.",
                                       record.passed_count(), record.scenario_count());
}

std::string fault_sentence(const FaultTotals& faults) {
  return fmt::format(
      "{} injected, {} survived with identical bytes, {} ended by name, {} hung, {} with different "
      "bytes, {} leaked",
      faults.injected, faults.survived, faults.ended_by_name, faults.hung, faults.different_bytes,
      faults.leaked);
}

}  // namespace

bool GateRecord::passed() const {
  return !jobs.empty() &&
         std::all_of(jobs.begin(), jobs.end(), [](const JobVerdict& job) { return job.passed(); });
}

std::size_t GateRecord::scenario_count() const {
  std::size_t count = 0;
  for (const JobVerdict& job : jobs) {
    count += job.scenarios.size();
  }
  return count;
}

std::size_t GateRecord::passed_count() const {
  std::size_t count = 0;
  for (const JobVerdict& job : jobs) {
    count += count_if_passed(job.scenarios, true);
  }
  return count;
}

Json to_json(const GateRecord& record) {
  Json jobs = Json::array();
  for (const JobVerdict& job : record.jobs) {
    jobs.push_back(to_json(job));
  }
  Json skipped = Json::array();
  for (const SkippedScenario& scenario : record.skipped) {
    skipped.push_back({{"name", scenario.name}, {"reason", scenario.reason}});
  }
  const RunInfo& run = record.run;
  return Json{{"schema_version", kGateSchemaVersion},
              {"run",
               {{"commit", run.commit},
                {"command", run.command},
                {"host", run.host},
                {"build", run.build},
                {"seed", run.seed},
                {"started_at", run.started_at},
                {"duration_s", run.duration_s}}},
              {"passed", record.passed()},
              {"scenarios", record.scenario_count()},
              {"as_expected", record.passed_count()},
              {"faults", to_json(record.faults)},
              {"jobs", jobs},
              {"skipped", skipped}};
}

Report gate_report(const GateRecord& record) {
  Report report;
  report.title = "dlo gate";
  report.summary = verdict_sentence(record);
  report.summary_tone = record.passed() ? Tone::kGood : Tone::kBad;
  report.facts = {{"Faults", fault_sentence(record.faults)},
                  {"Commit", record.run.commit},
                  {"Command", record.run.command},
                  {"Host", record.run.host},
                  {"Started", record.run.started_at},
                  {"Took", fmt::format("{:.1f} s", record.run.duration_s)}};
  if (!record.skipped.empty()) {
    report.facts.push_back({"Skipped", fmt::format("{} scenarios run in no world of the gate",
                                                   record.skipped.size())});
  }
  for (Table table : {finding_table(record), job_table(record), crash_table(record)}) {
    if (!table.rows.empty()) {
      report.tables.push_back(std::move(table));
    }
  }
  report.definitions = {
      {"Named after", "named_after_s",
       fmt::format("from the loss of the rank to the verdict of a survivor; at most {} s",
                   kNamedWithin / kSecond)},
      {"Leaked", "faults.leaked",
       "jobs that left a process or a file in shared memory behind, which the gate then removed, "
       "and scenarios after which a rank held more descriptors, threads, mappings, locked memory, "
       "temporary files or device buffers than before"}};
  return report;
}

std::string gate_summary(const GateRecord& record) {
  std::string text;
  for (const JobVerdict& job : record.jobs) {
    text += fmt::format("{:<10}  {:>4} of {:<4}  {:>6.1f} s  {}\n",
                        job.passed() ? "ok" : "fell short", count_if_passed(job.scenarios, true),
                        job.scenarios.size(), job.facts.duration_s, job.name);
  }
  return text + fmt::format("\nFaults: {}.\n{} ({:.1f} s)\n", fault_sentence(record.faults),
                            verdict_sentence(record), record.run.duration_s);
}

Status write_gate(platform::FileSystem& files, const platform::Path& out,
                  const GateRecord& record) {
  const Report report = gate_report(record);
  // The one that scripts wait for comes last.
  const std::array<std::pair<const char*, std::string>, 4> texts{
      {{"gate.md", to_markdown(report)},
       {"gate.html", to_html(report)},
       {"gate.xml", to_junit(record)},
       {"gate.json", to_json(record).dump(1) + "\n"}}};
  for (const auto& [name, text] : texts) {
    if (Status written = platform::write_text_atomically(files, out / name, text); !written) {
      return written;
    }
  }
  return {};
}

}  // namespace dlo::harness
