#include "harness/report_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/bytes.h"
#include "config/option_rows.h"
#include "harness/metrics.h"
#include "harness/report_cells.h"
#include "harness/report_throughput.h"

namespace dlo::harness {
namespace {

Table mode_table(const Results& results, const std::string& model) {
  Table table{.title = model,
              .lead = "",
              .group_title = "topology",
              .columns = {{"asked for", ColumnKind::kShort},
                          {"depth", ColumnKind::kNumber},
                          {"chunk", ColumnKind::kNumber},
                          {"outcome", ColumnKind::kShort},
                          {"bytes", ColumnKind::kShort},
                          {"H2D a forward", ColumnKind::kNumber},
                          {"ledger", ColumnKind::kShort},
                          {"owned host a rank", ColumnKind::kNumber},
                          {"device peak", ColumnKind::kNumber},
                          {"of limit", ColumnKind::kNumber},
                          {"PSS, all ranks", ColumnKind::kNumber},
                          {"forward", ColumnKind::kNumber},
                          {"", ColumnKind::kShort}},
              .rows = {}};
  for (const ScenarioResult& scenario : results.scenarios) {
    if (scenario.model == model && ran(scenario) && !times_forwards(scenario)) {
      table.rows.push_back({.group = scenario.topology.text() + gather_text(scenario),
                            .cells = mode_cells(scenario)});
    }
  }
  // Topologies stand together, whatever the order of the run.
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [](const TableRow& a, const TableRow& b) { return a.group < b.group; });
  return table;
}

Table refusal_table(const Results& results) {
  Table table{.title = "Refusals and named failures",
              .lead =
                  "Scenarios that must not run: each ends with its stable code on every rank, "
                  "nothing loaded or swapped.",
              .group_title = "",
              .columns = {{"scenario", ColumnKind::kShort},
                          {"topology", ColumnKind::kShort},
                          {"outcome", ColumnKind::kShort},
                          {"code", ColumnKind::kShort},
                          {"what it said", ColumnKind::kText},
                          {"", ColumnKind::kShort}},
              .rows = {}};
  for (const ScenarioResult& scenario : results.scenarios) {
    if (!ran(scenario)) {
      table.rows.push_back({.group = "",
                            .cells = {{scenario.name, Tone::kPlain},
                                      {scenario.topology.text(), Tone::kPlain},
                                      {outcome_text(scenario.outcome), Tone::kPlain},
                                      {scenario.code, Tone::kPlain},
                                      {scenario.message, Tone::kMuted},
                                      verdict_cell(scenario)}});
    }
  }
  return table;
}

Table failure_table(const Results& results) {
  Table table{
      .title = "What fell short",
      .lead = "Figures are recorded only of runs whose outcome, bytes and ledger were right.",
      .group_title = "",
      .columns = {{"scenario", ColumnKind::kShort},
                  {"expected", ColumnKind::kText},
                  {"outcome", ColumnKind::kShort},
                  {"failed check", ColumnKind::kText}},
      .rows = {}};
  const auto with_code = [](const std::string& outcome, const std::string& code) {
    return code.empty() ? outcome_text(outcome) : outcome_text(outcome) + " (" + code + ")";
  };
  for (const ScenarioResult& scenario : results.scenarios) {
    for (const std::string& check : scenario.failed_checks) {
      table.rows.push_back(
          {.group = "",
           .cells = {{scenario.name, Tone::kPlain},
                     {with_code(scenario.expected_outcome, scenario.expected_code), Tone::kPlain},
                     {with_code(scenario.outcome, scenario.code), Tone::kPlain},
                     {check, Tone::kBad}}});
    }
  }
  return table;
}

Table skipped_table(const Results& results) {
  Table table{.title = "Skipped",
              .lead = "Scenarios that this world cannot hold.",
              .group_title = "",
              .columns = {{"scenario", ColumnKind::kShort},
                          {"topology", ColumnKind::kShort},
                          {"reason", ColumnKind::kShort}},
              .rows = {}};
  for (const SkippedScenario& scenario : results.skipped) {
    table.rows.push_back({.group = "",
                          .cells = {{scenario.name, Tone::kPlain},
                                    {scenario.topology.text(), Tone::kPlain},
                                    {scenario.reason, Tone::kMuted}}});
  }
  return table;
}

constexpr std::array<std::string_view, 3> kTransfers{"resident", "rank_local", "all_gather"};

// The plain case of a mode: whole blocks, one block ahead, nothing downgraded. First one found.
const ScenarioResult* plain_case(const Results& results, const std::string& model,
                                 const std::string& topology, std::string_view transfer) {
  const ScenarioResult* found = nullptr;
  for (const ScenarioResult& scenario : results.scenarios) {
    const bool same = scenario.model == model && scenario.topology.text() == topology &&
                      scenario.outcome == "runs" && effective_transfer(scenario) == transfer &&
                      !times_forwards(scenario) &&
                      find_metric(scenario, "host_private_bytes") != nullptr;
    if (same && (found == nullptr || (chunk_bytes(*found) != 0 && chunk_bytes(scenario) == 0))) {
      found = &scenario;
    }
  }
  return found;
}

BarChart mode_chart(const Results& results, const std::string& model, std::string title,
                    std::string caption, std::string_view metric) {
  BarChart chart{.title = std::move(title),
                 .caption = std::move(caption),
                 .unit = "",
                 .category_title = "topology",
                 .categories = {},
                 .series = {{"resident", {}}, {"rank-local", {}}, {"AllGather", {}}}};
  std::set<std::string> topologies;
  for (const ScenarioResult& scenario : results.scenarios) {
    if (scenario.model == model && ran(scenario) && !times_forwards(scenario)) {
      topologies.insert(scenario.topology.text());
    }
  }
  for (const std::string& topology : topologies) {
    chart.categories.push_back(topology);
    for (std::size_t i = 0; i < kTransfers.size(); ++i) {
      const ScenarioResult* scenario = plain_case(results, model, topology, kTransfers.at(i));
      const Metric* found = scenario != nullptr ? find_metric(*scenario, metric) : nullptr;
      chart.series[i].values.push_back(found != nullptr ? std::optional(found->value)
                                                        : std::nullopt);
    }
  }
  return chart;
}

// Of the models that were gathered, else of all, the one that ranks hold most of: where the modes
// differ most.
std::string largest_model(const Results& results) {
  std::set<std::string> gathered;
  for (const ScenarioResult& scenario : results.scenarios) {
    if (effective_transfer(scenario) == "all_gather") {
      gathered.insert(scenario.model);
    }
  }
  std::string model;
  double largest = 0;
  for (const ScenarioResult& scenario : results.scenarios) {
    const Metric* host = find_metric(scenario, "host_private_bytes");
    const bool eligible = gathered.empty() || gathered.contains(scenario.model);
    if (host != nullptr && eligible && host->value > largest && !times_forwards(scenario)) {
      largest = host->value;
      model = scenario.model;
    }
  }
  return model;
}

std::vector<BarChart> charts_of(const Results& results) {
  const std::string model = largest_model(results);
  if (model.empty()) {
    return {};
  }
  return {mode_chart(results, model, "Owned host bytes a rank",
                     "What each rank keeps in private host memory while it serves; " + model + ".",
                     "host_private_bytes"),
          mode_chart(results, model, "H2D bytes a forward and rank",
                     "What each rank copies to its device for one forward; " + model + ".",
                     "h2d_bytes_per_forward")};
}

std::vector<Fact> facts_of(const Results& results) {
  const RunInfo& run = results.run;
  std::string build;
  for (const auto& [key, value] : run.build.items()) {
    build += fmt::format("{}{} {}", build.empty() ? "" : ", ", key,
                         value.is_string() ? value.get<std::string>() : value.dump());
  }
  return {{"commit", run.commit},
          {"command", run.command},
          {"host", run.host},
          {"world", fmt::format("{} rank{}", run.world_size, run.world_size == 1 ? "" : "s")},
          {"seed", fmt::format("{}", run.seed)},
          {"started", run.started_at},
          {"took", fmt::format("{:.1f} s", run.duration_s)},
          {"build", build}};
}

void add_summary(Report& report, const Results& results) {
  const std::size_t count = results.scenarios.size();
  const std::size_t passed = results.passed_count();
  report.summary_tone = passed == count && count > 0 ? Tone::kGood : Tone::kBad;
  if (count == 0) {
    report.summary = "No scenario ran.";
  } else if (passed == count) {
    report.summary = count == 1 ? "The scenario went as expected."
                                : fmt::format("All {} scenarios as expected.", count);
  } else {
    report.summary = fmt::format("{} of {} scenarios fell short.", count - passed, count);
  }
  const auto compared =
      std::count_if(results.scenarios.begin(), results.scenarios.end(),
                    [](const ScenarioResult& s) { return s.bytes_equal.value_or(false); });
  if (compared > 0) {
    report.summary += fmt::format(
        " {} outputs are byte-identical to the resident run of their topology.", compared);
  }
  if (!results.skipped.empty()) {
    const bool for_gpus = std::any_of(results.skipped.begin(), results.skipped.end(),
                                      [](const SkippedScenario& skipped) {
                                        return skipped.reason.find("GPU") != std::string::npos;
                                      });
    report.summary += fmt::format(" {} skipped for want of ranks{}.", results.skipped.size(),
                                  for_gpus ? " or GPUs" : "");
  }
}

}  // namespace

Report make_report(const Results& results) {
  Report report;
  report.title = "Distributed layerwise offload: run report";
  add_summary(report, results);
  report.facts = facts_of(results);
  report.charts = charts_of(results);
  for (BarChart& chart : throughput_charts(results)) {
    report.charts.push_back(std::move(chart));
  }
  report.tables.push_back(failure_table(results));
  report.tables.push_back(throughput_table(results));
  report.tables.push_back(calibration_table(results));
  for (const std::string& model : models_by_weight(results)) {
    report.tables.push_back(mode_table(results, model));
  }
  report.tables.push_back(refusal_table(results));
  report.tables.push_back(skipped_table(results));
  std::erase_if(report.tables, [](const Table& table) { return table.rows.empty(); });
  for (const MetricDefinition& metric : metric_definitions()) {
    report.definitions.push_back(
        {std::string(metric.title), std::string(metric.name), std::string(metric.definition)});
  }
  for (Definition& definition : throughput_definitions(results)) {
    report.definitions.push_back(std::move(definition));
  }
  return report;
}

}  // namespace dlo::harness
