#include "harness/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "harness/report_cells.h"

namespace dlo::harness {
namespace {

struct Counts {
  std::size_t total = 0;
  std::size_t passed = 0;
  std::size_t compared = 0;
  std::size_t equal = 0;
  std::size_t with_ledger = 0;
  std::size_t ledger_equal = 0;
};

using Line = std::array<std::string, 6>;

bool ledger_equals_plan(const ScenarioResult& scenario) {
  const Metric* h2d = find_metric(scenario, "h2d_bytes");
  const Metric* gather = find_metric(scenario, "gather_bytes");
  return h2d != nullptr && gather != nullptr && h2d->limit == h2d->value &&
         gather->limit == gather->value;
}

void count(Counts& counts, const ScenarioResult& scenario) {
  ++counts.total;
  counts.passed += scenario.passed ? 1U : 0U;
  counts.compared += scenario.bytes_equal.has_value() ? 1U : 0U;
  counts.equal += scenario.bytes_equal.value_or(false) ? 1U : 0U;
  counts.with_ledger += find_metric(scenario, "h2d_bytes") != nullptr ? 1U : 0U;
  counts.ledger_equal += ledger_equals_plan(scenario) ? 1U : 0U;
}

std::string share(std::size_t part, std::size_t whole) {
  return whole == 0 ? "-" : fmt::format("{} of {}", part, whole);
}

Line line_of(const std::string& model, const std::string& topology, const Counts& counts) {
  return {model,
          topology,
          fmt::format("{}", counts.total),
          share(counts.passed, counts.total),
          share(counts.equal, counts.compared),
          share(counts.ledger_equal, counts.with_ledger)};
}

std::vector<Line> lines_of(const Results& results) {
  std::map<std::string, std::map<std::string, Counts>> groups;
  Counts refusals;
  for (const ScenarioResult& scenario : results.scenarios) {
    count(ran(scenario) ? groups[scenario.model][scenario.topology.text()] : refusals, scenario);
  }
  std::vector<Line> lines{
      {"model", "topology", "scenarios", "as expected", "bytes equal", "ledger = plan"}};
  for (const std::string& model : models_by_weight(results)) {
    for (const auto& [topology, counts] : groups[model]) {
      lines.push_back(line_of(model, topology, counts));
    }
  }
  if (refusals.total > 0) {
    lines.push_back(line_of("refusals and named failures", "", refusals));
  }
  return lines;
}

}  // namespace

std::string summary_text(const Results& results) {
  const std::vector<Line> lines = lines_of(results);
  std::array<std::size_t, 6> widths{};
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      widths.at(i) = std::max(widths.at(i), line.at(i).size());
    }
  }
  std::string text;
  for (const Line& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < line.size(); ++i) {
      // Words left, counts right.
      row += i < 2 ? fmt::format("{:<{}}  ", line.at(i), widths.at(i))
                   : fmt::format("{:>{}}  ", line.at(i), widths.at(i));
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  const std::size_t total = results.scenarios.size();
  const std::size_t passed = results.passed_count();
  text += passed == total ? fmt::format("\nAll {} scenarios as expected", total)
                          : fmt::format("\n{} of {} scenarios fell short", total - passed, total);
  if (!results.skipped.empty()) {
    text += fmt::format(", {} skipped for want of ranks", results.skipped.size());
  }
  return text + fmt::format(" ({:.1f} s).\n", results.run.duration_s);
}

}  // namespace dlo::harness
