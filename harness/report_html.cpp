#include "harness/report_html.h"

#include <fmt/format.h>

#include "harness/embedded.h"

namespace dlo::harness {
namespace {

std::string_view tone_class(Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      return "";
    case Tone::kGood:
      return "good";
    case Tone::kBad:
      return "bad";
    case Tone::kMuted:
      return "muted";
  }
  return "";
}

// class="..." with a leading space, or nothing.
std::string class_attribute(ColumnKind kind, Tone tone) {
  std::string names = kind == ColumnKind::kNumber  ? "number"
                      : kind == ColumnKind::kShort ? "short"
                                                   : "";
  const std::string_view tone_name = tone_class(tone);
  if (!tone_name.empty()) {
    names += names.empty() ? "" : " ";
    names += tone_name;
  }
  return names.empty() ? "" : fmt::format(" class=\"{}\"", names);
}

std::string lines_html(const std::string& text) {
  std::string html = escape_html(text);
  for (std::size_t at = html.find('\n'); at != std::string::npos; at = html.find('\n', at)) {
    html.replace(at, 1, "<br>");
  }
  return html;
}

std::string head_html(const Table& table) {
  std::string html = "<thead><tr>";
  for (const Column& column : table.columns) {
    html += fmt::format("<th{}>{}</th>", class_attribute(column.kind, Tone::kPlain),
                        escape_html(column.title));
  }
  return html + "</tr></thead>\n";
}

std::string row_html(const Table& table, const TableRow& row) {
  std::string html = "<tr>";
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    html +=
        fmt::format("<td{}>{}</td>", class_attribute(table.columns.at(i).kind, row.cells[i].tone),
                    lines_html(row.cells[i].text));
  }
  return html + "</tr>\n";
}

std::string table_html(const Table& table) {
  std::string html = fmt::format("<h2>{}</h2>\n", escape_html(table.title));
  if (!table.lead.empty()) {
    html += fmt::format("<p class=\"muted\">{}</p>\n", escape_html(table.lead));
  }
  html += "<div class=\"table\"><table>\n" + head_html(table) + "<tbody>\n";
  std::string group;
  for (const TableRow& row : table.rows) {
    if (row.group != group) {
      group = row.group;
      html += fmt::format("<tr class=\"group\"><th colspan=\"{}\">{}</th></tr>\n",
                          table.columns.size(), escape_html(group));
    }
    html += row_html(table, row);
  }
  html += "</tbody></table></div>\n";
  for (const std::string& note : table.notes) {
    html += fmt::format("<p class=\"muted\">{}</p>\n", escape_html(note));
  }
  return html;
}

std::string chart_html(const BarChart& chart) {
  std::string html = fmt::format("<figure><figcaption><strong>{}</strong>{}<div class=\"key\">",
                                 escape_html(chart.title), escape_html(chart.caption));
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    html += fmt::format("<span><i class=\"series-{}\"></i>{}</span>", i,
                        escape_html(chart.series[i].name));
  }
  return html + "</div></figcaption>\n" + bar_chart_svg(chart) + "</figure>\n";
}

std::string definitions_html(const Report& report) {
  std::string html = "<h2>What the figures mean</h2>\n<dl class=\"definitions\">\n";
  for (const Definition& definition : report.definitions) {
    html += fmt::format("<dt>{} <code>{}</code></dt><dd>{}</dd>\n", escape_html(definition.title),
                        escape_html(definition.name), escape_html(definition.text));
  }
  return html + "</dl>\n";
}

}  // namespace

std::string to_html(const Report& report) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n",
      escape_html(report.title), report_style_css(), escape_html(report.title));
  html += fmt::format("<p class=\"summary {}\">{}</p>\n", tone_class(report.summary_tone),
                      escape_html(report.summary));
  html += "<dl class=\"facts\">\n";
  for (const Fact& fact : report.facts) {
    html +=
        fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape_html(fact.label), escape_html(fact.text));
  }
  html += "</dl>\n";
  if (!report.charts.empty()) {
    html += "<div class=\"charts charts-lead\">\n";
    for (const BarChart& chart : report.charts) {
      html += chart_html(chart);
    }
    html += "</div>\n";
  }
  for (const Table& table : report.tables) {
    html += table_html(table);
  }
  return html + definitions_html(report) + "</main>\n</body>\n</html>\n";
}

}  // namespace dlo::harness
