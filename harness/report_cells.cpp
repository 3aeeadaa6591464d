#include "harness/report_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/bytes.h"
#include "config/option_rows.h"

namespace dlo::harness {
namespace {

constexpr std::string_view kNone = "–";

std::string transfer_text(const std::string& transfer) {
  if (transfer == "rank_local") {
    return "rank-local";
  }
  return transfer == "all_gather" ? "AllGather" : transfer;
}

bool option_flag(const ScenarioResult& scenario, std::string_view name) {
  const auto found = scenario.options.find(name);
  return found != scenario.options.end() && found->is_boolean() && found->get<bool>();
}

// Options off their defaults that have no column of their own: "pin_cpu_memory=false".
std::string other_options(const ScenarioResult& scenario) {
  static const std::set<std::string, std::less<>> with_column{
      "enable_distributed_layerwise_offload", "dlo_use_allgather", "dlo_prefetch_depth",
      "dlo_chunk_bytes"};
  const Json defaults = config::options_to_json(config::OffloadOptions{});
  std::string text;
  for (const auto& [name, value] : scenario.options.items()) {
    if (!with_column.contains(name) && defaults.contains(name) && defaults.at(name) != value) {
      text += fmt::format("\n{}={}", name, value.dump());
    }
  }
  return text;
}

Cell bytes_cell(const ScenarioResult& scenario, std::string_view metric) {
  const Metric* found = find_metric(scenario, metric);
  if (found == nullptr) {
    return {std::string(kNone), Tone::kMuted};
  }
  return {format_bytes(static_cast<std::uint64_t>(found->value)), Tone::kPlain};
}

Cell ledger_cell(const ScenarioResult& scenario) {
  const Metric* h2d = find_metric(scenario, "h2d_bytes");
  const Metric* gather = find_metric(scenario, "gather_bytes");
  if (h2d == nullptr || gather == nullptr) {
    return {std::string(kNone), Tone::kMuted};
  }
  const bool equal = h2d->limit == h2d->value && gather->limit == gather->value;
  return equal ? Cell{"= plan", Tone::kGood} : Cell{"≠ plan", Tone::kBad};
}

Cell share_cell(const ScenarioResult& scenario) {
  const Metric* device = find_metric(scenario, "device_peak_bytes");
  if (device == nullptr || device->limit.value_or(0) <= 0) {
    return {std::string(kNone), Tone::kMuted};
  }
  const double percent = 100 * device->value / *device->limit;
  return {fmt::format("{:.0f} %", percent), percent > 100 ? Tone::kBad : Tone::kPlain};
}

Cell bytes_equal_cell(const ScenarioResult& scenario) {
  if (!scenario.bytes_equal.has_value()) {
    const bool reference = requested_transfer(scenario) == "resident";
    return {reference ? "reference" : std::string(kNone), Tone::kMuted};
  }
  return *scenario.bytes_equal ? Cell{"equal", Tone::kGood} : Cell{"DIFFERENT", Tone::kBad};
}

Cell outcome_cell(const ScenarioResult& scenario) {
  std::string text = outcome_text(scenario.outcome);
  if (effective_transfer(scenario) != requested_transfer(scenario)) {
    text += (scenario.code.empty() ? ", " : " to ") + transfer_text(effective_transfer(scenario));
  }
  if (!scenario.code.empty()) {
    text += "\n" + scenario.code;
  }
  return {text, Tone::kPlain};
}

Cell forward_cell(const ScenarioResult& scenario) {
  const Metric* found = find_metric(scenario, "forward_ms");
  if (found == nullptr) {
    return {std::string(kNone), Tone::kMuted};
  }
  return {fmt::format("{:.1f} ms", found->value), Tone::kPlain};
}

}  // namespace

bool ran(const ScenarioResult& scenario) {
  return scenario.outcome == "runs" || scenario.outcome == "falls_back";
}

std::vector<std::string> models_by_weight(const Results& results) {
  std::vector<std::string> models;
  std::map<std::string, std::size_t> counts;
  for (const ScenarioResult& scenario : results.scenarios) {
    if (ran(scenario) && ++counts[scenario.model] == 1) {
      models.push_back(scenario.model);
    }
  }
  std::stable_sort(models.begin(), models.end(), [&](const std::string& a, const std::string& b) {
    return counts.at(a) > counts.at(b);
  });
  return models;
}

const Metric* find_metric(const ScenarioResult& scenario, std::string_view name) {
  const auto found = std::find_if(scenario.metrics.begin(), scenario.metrics.end(),
                                  [&](const Metric& metric) { return metric.name == name; });
  return found == scenario.metrics.end() ? nullptr : &*found;
}

std::string requested_transfer(const ScenarioResult& scenario) {
  if (!option_flag(scenario, "enable_distributed_layerwise_offload")) {
    return "resident";
  }
  return option_flag(scenario, "dlo_use_allgather") ? "all_gather" : "rank_local";
}

std::string effective_transfer(const ScenarioResult& scenario) {
  return scenario.effective.is_object() ? scenario.effective.value("transfer", "") : "";
}

std::uint64_t chunk_bytes(const ScenarioResult& scenario) {
  return scenario.options.is_object() ? scenario.options.value("dlo_chunk_bytes", 0ULL) : 0;
}

std::string gather_text(const ScenarioResult& scenario) {
  return scenario.gather.empty() ? "" : ", gathered by " + scenario.gather;
}

std::string outcome_text(std::string_view outcome) {
  std::string text(outcome);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

Cell verdict_cell(const ScenarioResult& scenario) {
  return scenario.passed ? Cell{"ok", Tone::kGood} : Cell{"fell short", Tone::kBad};
}

std::vector<Cell> mode_cells(const ScenarioResult& scenario) {
  const std::string transfer = requested_transfer(scenario);
  const bool streams = transfer != "resident";
  const std::uint64_t chunk = chunk_bytes(scenario);
  const Cell none{std::string(kNone), Tone::kMuted};
  const Cell depth{streams ? fmt::format("{}", scenario.options.value("dlo_prefetch_depth", 0))
                           : std::string(kNone),
                   streams ? Tone::kPlain : Tone::kMuted};
  return {Cell{transfer_text(transfer) + other_options(scenario), Tone::kPlain},
          depth,
          streams ? Cell{chunk == 0 ? "whole block" : format_bytes(chunk), Tone::kPlain} : none,
          outcome_cell(scenario),
          bytes_equal_cell(scenario),
          bytes_cell(scenario, "h2d_bytes_per_forward"),
          ledger_cell(scenario),
          bytes_cell(scenario, "host_private_bytes"),
          bytes_cell(scenario, "device_peak_bytes"),
          share_cell(scenario),
          bytes_cell(scenario, "pss_total_bytes"),
          forward_cell(scenario),
          verdict_cell(scenario)};
}

}  // namespace dlo::harness
