#include "harness/report_throughput.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/report_cells.h"
#include "harness/throughput_metrics.h"

namespace dlo::harness {
namespace {

constexpr std::string_view kAbsent = "–";
constexpr double kGiga = 1e9;

struct ArmOf {
  const ScenarioResult& scenario;
  std::string arm;

  [[nodiscard]] const Metric* metric(std::string_view name) const {
    return find_metric(scenario, fmt::format("{}.{}", arm, name));
  }
};

std::vector<std::string> arms_of(const ScenarioResult& scenario) {
  std::vector<std::string> arms;
  for (const Json& arm : scenario.throughput.at("arms")) {
    arms.push_back(arm.at("name").get<std::string>());
  }
  return arms;
}

Cell number(const Metric* metric, int decimals, std::string_view unit = "") {
  if (metric == nullptr) {
    return {std::string(kAbsent), Tone::kMuted};
  }
  return {fmt::format("{:.{}f}{}", metric->value, decimals, unit), Tone::kPlain};
}

// The host's calls of the driver, and in brackets what the same calls take back to back.
Cell dispatch_cell(const ArmOf& arm) {
  const Metric* value = arm.metric("dispatch_p50_us");
  Cell cell = number(value, 1);
  if (value != nullptr && value->limit) {
    cell.text += fmt::format(" ({:.1f})", *value->limit);
  }
  return cell;
}

Cell slowdown_cell(const ArmOf& arm) {
  const Metric* value = arm.metric("slowdown_percent");
  const Metric* low = arm.metric("slowdown_low_percent");
  const Metric* high = arm.metric("slowdown_high_percent");
  if (value == nullptr || low == nullptr || high == nullptr) {
    return {std::string(kAbsent), Tone::kMuted};
  }
  return {fmt::format("{:+.2f} % [{:+.2f}, {:+.2f}]", value->value, low->value, high->value),
          Tone::kPlain};
}

Cell allowed_cell(const ArmOf& arm) {
  const Metric* value = arm.metric("slowdown_percent");
  if (value == nullptr || !value->limit) {
    return {std::string(kAbsent), Tone::kMuted};
  }
  return {fmt::format("{:.2f} %", *value->limit), Tone::kMuted};
}

Cell prediction_cell(const ArmOf& arm) {
  const Metric* predicted = arm.metric("predicted_forward_ms");
  const Metric* ratio = arm.metric("prediction_ratio");
  if (predicted == nullptr || ratio == nullptr) {
    return {std::string(kAbsent), Tone::kMuted};
  }
  return {fmt::format("{:.2f} ({:+.1f} %)", predicted->value, (ratio->value - 1) * 100),
          Tone::kPlain};
}

TableRow arm_row(const ArmOf& arm) {
  return {.group = arm.scenario.name + ": " + arm.scenario.model + gather_text(arm.scenario),
          .cells = {{arm.arm, Tone::kPlain},
                    number(arm.metric("forward_ms"), 2),
                    number(arm.metric("forward_p99_ms"), 2),
                    number(arm.metric("link_share_percent"), 1, " %"),
                    slowdown_cell(arm),
                    allowed_cell(arm),
                    number(arm.metric("exposed_p50_us"), 1),
                    dispatch_cell(arm),
                    number(arm.metric("pinned_per_weight"), 3),
                    number(arm.metric("power_w"), 0),
                    prediction_cell(arm),
                    arm.scenario.bytes_equal.value_or(false) ? Cell{"equal", Tone::kGood}
                                                             : Cell{"differ", Tone::kBad}}};
}

// What NVML alone tells of an arm.
constexpr std::array<std::string_view, 3> kCounterFigures{"power_w", "hbm_used_bytes",
                                                          "nvlink_bytes_per_forward"};

std::string title_of(std::string_view name) {
  const auto rows = arm_metric_definitions();
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const MetricDefinition& found) { return found.name == name; });
  return fmt::format("{} ({})", row->title, name);
}

// Comma-separated; empty where only some ranks lack a counter, or the power's limit is missing.
std::string figures_left_out(const ArmOf& arm) {
  std::string figures;
  for (const std::string_view name : kCounterFigures) {
    if (arm.metric(name) == nullptr) {
      figures += (figures.empty() ? "" : ", ") + title_of(name);
    }
  }
  return figures;
}

void add_note(const ArmOf& arm, const std::string& reason, std::vector<std::string>& notes) {
  const std::string figures = figures_left_out(arm);
  const std::string what =
      figures.empty() ? "a device counter is missing on some ranks, or the limit of the power: "
                      : "left out for want of the device counters: " + figures + ". ";
  const std::string note = arm.scenario.name + ": " + what + reason;
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) {
    notes.push_back(note);
  }
}

// One line a scenario, unless its arms lack different figures.
void add_notes(const ScenarioResult& scenario, std::vector<std::string>& notes) {
  for (const Json& arm : scenario.throughput.at("arms")) {
    const std::string reason = arm.value("counters_absent", "");
    if (!reason.empty()) {
      add_note({scenario, arm.at("name").get<std::string>()}, reason, notes);
    }
  }
}

Cell rate_cell(const ScenarioResult& scenario, std::string_view name) {
  const Metric* metric = find_metric(scenario, name);
  if (metric == nullptr) {
    return {std::string(kAbsent), Tone::kMuted};
  }
  return {fmt::format("{:.2f}", metric->value / kGiga), Tone::kPlain};
}

BarChart chart_of(const ScenarioResult& scenario) {
  BarChart chart{.title = "Forward: " + scenario.name,
                 .caption =
                     "Median of one forward of each arm, and what neither the link nor the "
                     "baseline's compute lets it go below; " +
                     scenario.model + ".",
                 .unit = "ms",
                 .category_title = "arm",
                 .categories = arms_of(scenario),
                 .series = {{"measured", {}}, {"limit", {}}}};
  for (const std::string& name : chart.categories) {
    const Metric* forward = ArmOf{scenario, name}.metric("forward_ms");
    chart.series[0].values.push_back(forward != nullptr ? std::optional(forward->value)
                                                        : std::nullopt);
    chart.series[1].values.push_back(forward != nullptr ? forward->limit : std::nullopt);
  }
  return chart;
}

}  // namespace

bool times_forwards(const ScenarioResult& scenario) {
  return !scenario.throughput.is_null();
}

Table throughput_table(const Results& results) {
  Table table{.title = "Throughput",
              .lead =
                  "Forwards of all arms in one process, in rounds of random order; the slowest "
                  "rank counts. Slowdown: Hodges-Lehmann estimate against the first arm with its "
                  "95 % interval; allowed is what this run's matrix products lost beside a copy "
                  "(and gather), and 0.2 %.",
              .group_title = "scenario",
              .columns = {{"arm", ColumnKind::kShort},
                          {"forward, ms", ColumnKind::kNumber},
                          {"p99", ColumnKind::kNumber},
                          {"of the link", ColumnKind::kNumber},
                          {"slowdown", ColumnKind::kNumber},
                          {"allowed", ColumnKind::kNumber},
                          {"exposed p50, us", ColumnKind::kNumber},
                          {"host adds p50 (bare calls), us", ColumnKind::kNumber},
                          {"pinned a weight byte", ColumnKind::kNumber},
                          {"power, W", ColumnKind::kNumber},
                          {"predicted, ms", ColumnKind::kNumber},
                          {"bytes", ColumnKind::kShort}},
              .rows = {}};
  for (const ScenarioResult& scenario : results.scenarios) {
    if (times_forwards(scenario)) {
      for (const std::string& arm : arms_of(scenario)) {
        table.rows.push_back(arm_row({scenario, arm}));
      }
      add_notes(scenario, table.notes);
    }
  }
  return table;
}

Table calibration_table(const Results& results) {
  Table table{.title = "Calibration",
              .lead =
                  "Measured in the same process before the rounds. Rates in GB/s (10^9 bytes); "
                  "a series of matrix products alone, and what it loses beside one block.",
              .group_title = "",
              .columns = {{"scenario", ColumnKind::kShort},
                          {"noise floor", ColumnKind::kNumber},
                          {"H2D alone", ColumnKind::kNumber},
                          {"H2D together", ColumnKind::kNumber},
                          {"AllGather", ColumnKind::kNumber},
                          {"products, ms", ColumnKind::kNumber},
                          {"lost beside H2D, ms", ColumnKind::kNumber},
                          {"beside gather", ColumnKind::kNumber},
                          {"beside shard + gather", ColumnKind::kNumber},
                          {"event, ns", ColumnKind::kNumber}},
              .rows = {}};
  for (const ScenarioResult& scenario : results.scenarios) {
    if (!times_forwards(scenario)) {
      continue;
    }
    const auto figure = [&](std::string_view name) { return find_metric(scenario, name); };
    table.rows.push_back({.group = "",
                          .cells = {{scenario.name, Tone::kPlain},
                                    number(figure("noise_floor_percent"), 2, " %"),
                                    rate_cell(scenario, "h2d_alone_bytes_per_s"),
                                    rate_cell(scenario, "h2d_together_bytes_per_s"),
                                    rate_cell(scenario, "gather_bytes_per_s"),
                                    number(figure("gemm_alone_ms"), 2),
                                    number(figure("gemm_loss_beside_h2d_ms"), 3),
                                    number(figure("gemm_loss_beside_gather_ms"), 3),
                                    number(figure("gemm_loss_beside_shard_ms"), 3),
                                    number(figure("event_ns"), 0)}});
  }
  return table;
}

std::vector<BarChart> throughput_charts(const Results& results) {
  std::vector<BarChart> charts;
  for (const ScenarioResult& scenario : results.scenarios) {
    if (times_forwards(scenario)) {
      charts.push_back(chart_of(scenario));
    }
  }
  return charts;
}

std::vector<Definition> throughput_definitions(const Results& results) {
  if (std::none_of(results.scenarios.begin(), results.scenarios.end(), times_forwards)) {
    return {};
  }
  std::vector<Definition> definitions;
  for (const MetricDefinition& metric : arm_metric_definitions()) {
    definitions.push_back({std::string(metric.title), "ARM." + std::string(metric.name),
                           std::string(metric.definition)});
  }
  for (const MetricDefinition& metric : run_metric_definitions()) {
    definitions.push_back(
        {std::string(metric.title), std::string(metric.name), std::string(metric.definition)});
  }
  return definitions;
}

}  // namespace dlo::harness
