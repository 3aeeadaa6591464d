#include "harness/report_markdown.h"

#include <fmt/format.h>

#include "base/bytes.h"

namespace dlo::harness {
namespace {

// A cell may hold neither line ends nor bars as they are.
std::string escape_cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') {
      escaped += "\\|";
    } else {
      escaped += c == '\n' ? std::string("<br>") : std::string(1, c);
    }
  }
  return escaped;
}

std::string cell_text(const Cell& cell) {
  const std::string text = escape_cell(cell.text);
  return cell.tone == Tone::kBad ? "**" + text + "**" : text;
}

bool has_groups(const Table& table) {
  return !table.group_title.empty();
}

std::string table_markdown(const Table& table) {
  std::string text = fmt::format("## {}\n\n", table.title);
  if (!table.lead.empty()) {
    text += table.lead + "\n\n";
  }
  std::string head = has_groups(table) ? "| " + table.group_title + " " : "";
  std::string rule = has_groups(table) ? "| --- " : "";
  for (const Column& column : table.columns) {
    head += "| " + column.title + " ";
    rule += column.kind == ColumnKind::kNumber ? "| ---: " : "| --- ";
  }
  text += head + "|\n" + rule + "|\n";
  for (const TableRow& row : table.rows) {
    text += has_groups(table) ? "| " + row.group + " " : "";
    for (const Cell& cell : row.cells) {
      text += "| " + cell_text(cell) + " ";
    }
    text += "|\n";
  }
  for (const std::string& note : table.notes) {
    text += "\n" + escape_cell(note) + "\n";
  }
  return text + "\n";
}

std::string value_text(const BarChart& chart, double value) {
  return chart.unit.empty() ? format_bytes(static_cast<std::uint64_t>(value))
                            : fmt::format("{:.2f} {}", value, chart.unit);
}

std::string chart_markdown(const BarChart& chart) {
  Table table{.title = chart.title,
              .lead = chart.caption,
              .group_title = chart.category_title,
              .columns = {},
              .rows = {}};
  for (const ChartSeries& series : chart.series) {
    table.columns.push_back({series.name, ColumnKind::kNumber});
  }
  for (std::size_t i = 0; i < chart.categories.size(); ++i) {
    TableRow row{.group = chart.categories[i], .cells = {}};
    for (const ChartSeries& series : chart.series) {
      const std::optional<double>& value = series.values[i];
      row.cells.push_back({value ? value_text(chart, *value) : "–", Tone::kPlain});
    }
    table.rows.push_back(std::move(row));
  }
  return table_markdown(table);
}

}  // namespace

std::string to_markdown(const Report& report) {
  std::string text = fmt::format("# {}\n\n**{}**\n\n", report.title, report.summary);
  for (const Fact& fact : report.facts) {
    text += fmt::format("- {}: {}\n", fact.label, fact.text);
  }
  text += "\n";
  for (const BarChart& chart : report.charts) {
    text += chart_markdown(chart);
  }
  for (const Table& table : report.tables) {
    text += table_markdown(table);
  }
  text += "## What the figures mean\n\n";
  for (const Definition& definition : report.definitions) {
    text +=
        fmt::format("- **{}** (`{}`): {}\n", definition.title, definition.name, definition.text);
  }
  return text;
}

}  // namespace dlo::harness
