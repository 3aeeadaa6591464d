#include "harness/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/report_cells.h"
#include "harness/throughput_summary.h"

namespace dlo::harness {
namespace {

constexpr double kPerHundred = 100;
constexpr std::string_view kForward = ".forward_ms";

const ScenarioResult* find_scenario(const Results& results, const std::string& name) {
  const auto at = std::find_if(results.scenarios.begin(), results.scenarios.end(),
                               [&](const ScenarioResult& row) { return row.name == name; });
  return at == results.scenarios.end() ? nullptr : &*at;
}

// Medians of the rounds of the arm whose forward `metric` is; empty where there are none.
std::vector<double> rounds_of(const ScenarioResult& scenario, const std::string& metric) {
  std::vector<double> medians;
  if (scenario.throughput.is_null() || !metric.ends_with(kForward)) {
    return medians;
  }
  const std::string name = metric.substr(0, metric.size() - kForward.size());
  for (const Json& arm : scenario.throughput.at("arms")) {
    if (arm.at("name") != name) {
      continue;
    }
    for (const Json& round : arm.at("forward_ms")) {
      medians.push_back(telemetry::median_of(round.get<std::vector<double>>()));
    }
  }
  return medians;
}

std::optional<double> noise_floor(const ScenarioResult& a, const ScenarioResult& b) {
  std::optional<double> larger;
  for (const ScenarioResult* scenario : {&a, &b}) {
    if (scenario->throughput.is_null() || scenario->throughput.at("noise_floor").is_null()) {
      continue;
    }
    larger = std::max(larger.value_or(0), scenario->throughput.at("noise_floor").get<double>());
  }
  return larger;
}

void compare_metrics(const ScenarioResult& a, const ScenarioResult& b, Comparison& comparison) {
  for (const Metric& metric : a.metrics) {
    const Metric* other = find_metric(b, metric.name);
    if (other == nullptr) {
      comparison.remarks.push_back(fmt::format("{}: B has no {}", a.name, metric.name));
      continue;
    }
    if (other->value == metric.value) {
      ++comparison.equal_count;
      continue;
    }
    ComparedMetric row{.scenario = a.name,
                       .metric = metric.name,
                       .unit = metric.unit,
                       .a = metric.value,
                       .b = other->value,
                       .difference = std::nullopt,
                       .noise_floor = std::nullopt};
    auto before = rounds_of(a, metric.name);
    auto after = rounds_of(b, metric.name);
    const std::size_t rounds = std::min(before.size(), after.size());
    if (rounds > 0) {
      before.resize(rounds);
      after.resize(rounds);
      row.difference = telemetry::paired_difference(before, after);
      row.noise_floor = noise_floor(a, b);
    }
    comparison.changed.push_back(std::move(row));
  }
  for (const Metric& metric : b.metrics) {
    if (find_metric(a, metric.name) == nullptr) {
      comparison.remarks.push_back(fmt::format("{}: A has no {}", a.name, metric.name));
    }
  }
}

// What has to be equal before unequal bytes say anything.
std::string bytes_depend_on(const ScenarioResult& scenario) {
  return fmt::format("{}, {} arithmetic, {} attention{}", scenario.device, scenario.compute_dtype,
                     scenario.attention, gather_text(scenario));
}

void compare_bytes(const ScenarioResult& a, const ScenarioResult& b, Comparison& comparison) {
  if (a.outcome != b.outcome || a.code != b.code) {
    comparison.remarks.push_back(fmt::format("{}: outcome {} {} in A, {} {} in B", a.name,
                                             a.outcome, a.code, b.outcome, b.code));
  }
  const std::string of_a = bytes_depend_on(a);
  const std::string of_b = bytes_depend_on(b);
  if (of_a != of_b) {
    comparison.remarks.push_back(
        fmt::format("{}: bytes are not compared: {} in A, {} in B", a.name, of_a, of_b));
  } else if (a.output_digest != b.output_digest) {
    comparison.remarks.push_back(fmt::format("{}: output bytes differ", a.name));
  }
}

std::string change_text(const ComparedMetric& row) {
  const auto relative = row.relative();
  return relative ? fmt::format("{:+.2f} %", *relative * kPerHundred) : std::string("from 0");
}

std::string interval_text(const ComparedMetric& row) {
  if (!row.difference) {
    return "";
  }
  return fmt::format("[{:+.4g}, {:+.4g}] {} at {:.1f} %", row.difference->low, row.difference->high,
                     row.unit, row.difference->coverage * kPerHundred);
}

}  // namespace

std::optional<double> ComparedMetric::relative() const {
  return a != 0 ? std::optional(b / a - 1) : std::nullopt;
}

std::string ComparedMetric::verdict() const {
  if (difference) {
    const bool holds_zero = difference->low <= 0 && difference->high >= 0;
    const bool below_floor =
        noise_floor && a != 0 && std::abs(difference->difference / a) <= *noise_floor;
    if (holds_zero || below_floor) {
      return "within noise";
    }
  }
  return b < a ? "less" : "more";
}

Comparison compare_results(const Results& a, const Results& b) {
  Comparison comparison;
  for (const ScenarioResult& scenario : a.scenarios) {
    const ScenarioResult* other = find_scenario(b, scenario.name);
    if (other == nullptr) {
      comparison.remarks.push_back(fmt::format("{}: only in A", scenario.name));
      continue;
    }
    compare_bytes(scenario, *other, comparison);
    compare_metrics(scenario, *other, comparison);
  }
  for (const ScenarioResult& scenario : b.scenarios) {
    if (find_scenario(a, scenario.name) == nullptr) {
      comparison.remarks.push_back(fmt::format("{}: only in B", scenario.name));
    }
  }
  return comparison;
}

std::string comparison_text(const Comparison& comparison) {
  std::string text;
  std::string scenario;
  for (const ComparedMetric& row : comparison.changed) {
    if (row.scenario != scenario) {
      scenario = row.scenario;
      text += fmt::format("{}\n  {:<36} {:>14} {:>14} {:<8} {:>10}  {:<12} {}\n", scenario,
                          "metric", "A", "B", "", "change", "", "interval, noise floor");
    }
    std::string noise;
    if (row.noise_floor) {
      noise = fmt::format(", noise {:.2f} %", *row.noise_floor * kPerHundred);
    }
    text +=
        fmt::format("  {:<36} {:>14.6g} {:>14.6g} {:<8} {:>10}  {:<12} {}{}\n", row.metric, row.a,
                    row.b, row.unit, change_text(row), row.verdict(), interval_text(row), noise);
  }
  for (const std::string& remark : comparison.remarks) {
    text += remark + "\n";
  }
  text += fmt::format("{} metrics differ, {} are equal\n", comparison.changed.size(),
                      comparison.equal_count);
  return text;
}

Json comparison_json(const Comparison& comparison) {
  Json rows = Json::array();
  for (const ComparedMetric& row : comparison.changed) {
    Json json{{"scenario", row.scenario},
              {"metric", row.metric},
              {"unit", row.unit},
              {"a", row.a},
              {"b", row.b},
              {"verdict", row.verdict()}};
    json["relative"] = row.relative() ? Json(*row.relative()) : Json(nullptr);
    json["noise_floor"] = row.noise_floor ? Json(*row.noise_floor) : Json(nullptr);
    json["difference"] = difference_json(row.difference);
    rows.push_back(std::move(json));
  }
  return Json{
      {"changed", rows}, {"equal_count", comparison.equal_count}, {"remarks", comparison.remarks}};
}

}  // namespace dlo::harness
