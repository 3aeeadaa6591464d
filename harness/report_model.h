// Owns: the report before it has a format: summary, facts, tables and charts made from Results.
// Must not own: Markdown or HTML (report_markdown.h, report_html.h). Pure functions: one results
// file gives one report, whichever machine generates it.
#pragma once

#include <string>
#include <vector>

#include "harness/plot.h"
#include "harness/results.h"

namespace dlo::harness {

enum class Tone { kPlain, kGood, kBad, kMuted };

struct Cell {
  std::string text;  // may have several lines
  Tone tone = Tone::kPlain;
};

enum class ColumnKind {
  kText,    // wraps
  kShort,   // words that stay on their line
  kNumber,  // set right
};

struct Column {
  std::string title;
  ColumnKind kind = ColumnKind::kText;
};

struct TableRow {
  std::string group;  // rows with one group stand under one heading
  std::vector<Cell> cells;
};

struct Table {
  std::string title;
  std::string lead;         // one sentence over the table, may be empty
  std::string group_title;  // of the column that the groups become in a format without headings
  std::vector<Column> columns;
  std::vector<TableRow> rows;
  std::vector<std::string> notes = {};  // a line each, under the table
};

struct Fact {
  std::string label;
  std::string text;
};

struct Definition {
  std::string title;
  std::string name;  // in results.json
  std::string text;
};

struct Report {
  std::string title;
  std::string summary;  // "All 84 scenarios as expected."
  Tone summary_tone = Tone::kGood;
  std::vector<Fact> facts;
  std::vector<BarChart> charts;
  std::vector<Table> tables;  // empty ones are left out
  std::vector<Definition> definitions;
};

[[nodiscard]] Report make_report(const Results& results);

}  // namespace dlo::harness
