// Owns: a grouped bar chart as inline SVG. Colours are CSS classes of the report (light and dark);
// numbers stand on the bars, so that the chart reads without a grid.
// Must not own: which figures are shown (report_model.h). Pure; same input, same text.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dlo::harness {

struct ChartSeries {
  std::string name;
  std::vector<std::optional<double>> values;  // one a category; empty: no bar
};

struct BarChart {
  std::string title;
  std::string caption;  // one sentence under the title
  std::string unit;     // of the values; empty: bytes, shown in the unit that suits them
  std::string category_title = "topology";
  std::vector<std::string> categories;
  std::vector<ChartSeries> series;
};

// An <svg> element; the n-th series has class "series-n".
[[nodiscard]] std::string bar_chart_svg(const BarChart& chart);

// "<", ">", "&" and quotes as entities.
[[nodiscard]] std::string escape_html(std::string_view text);

}  // namespace dlo::harness
