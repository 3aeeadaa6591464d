#include "harness/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/bytes.h"

namespace dlo::harness {
namespace {

// In units of the SVG's own coordinate system; the page scales it.
constexpr double kWidth = 640;
constexpr double kHeight = 260;
constexpr double kPlotTop = 24;
constexpr double kPlotBottom = 216;
constexpr double kBarGap = 4;
constexpr double kGroupPadding = 0.18;  // of a group's width, on each side
constexpr double kLabelLift = 6;
constexpr double kCategoryDrop = 20;
constexpr double kVisibleBar = 2;  // a zero still shows where it stands

double largest_value(const BarChart& chart) {
  double largest = 0;
  for (const ChartSeries& series : chart.series) {
    for (const std::optional<double>& value : series.values) {
      largest = std::max(largest, value.value_or(0));
    }
  }
  return largest > 0 ? largest : 1;
}

std::string bar(const BarChart& chart, std::size_t series, std::size_t category, double x,
                double width, double scale) {
  const double value = *chart.series[series].values[category];
  const double height = std::max(value * scale, kVisibleBar);
  const double top = kPlotBottom - height;
  const std::string label = format_bytes(static_cast<std::uint64_t>(value));
  return fmt::format(
      "<rect class=\"series-{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
      "rx=\"2\"><title>{}, {}: {}</title></rect>\n"
      "<text class=\"value\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
      series, x, top, width, height, escape_html(chart.categories[category]),
      escape_html(chart.series[series].name), label, x + width / 2, top - kLabelLift, label);
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string bar_chart_svg(const BarChart& chart) {
  std::string svg = fmt::format(
      "<svg class=\"chart\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n",
      kWidth, kHeight, escape_html(chart.title));
  const double group_width =
      kWidth / static_cast<double>(std::max<std::size_t>(chart.categories.size(), 1));
  const double inner_width = group_width * (1 - 2 * kGroupPadding);
  const auto series_count = static_cast<double>(std::max<std::size_t>(chart.series.size(), 1));
  const double bar_width = (inner_width - kBarGap * (series_count - 1)) / series_count;
  const double scale = (kPlotBottom - kPlotTop) / largest_value(chart);
  for (std::size_t c = 0; c < chart.categories.size(); ++c) {
    const double group_x = group_width * static_cast<double>(c);
    for (std::size_t s = 0; s < chart.series.size(); ++s) {
      if (c < chart.series[s].values.size() && chart.series[s].values[c].has_value()) {
        const double offset = (bar_width + kBarGap) * static_cast<double>(s);
        svg += bar(chart, s, c, group_x + group_width * kGroupPadding + offset, bar_width, scale);
      }
    }
    svg += fmt::format(
        "<text class=\"category\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
        group_x + group_width / 2, kPlotBottom + kCategoryDrop, escape_html(chart.categories[c]));
  }
  svg += fmt::format(
      "<line class=\"axis\" x1=\"0\" y1=\"{0:.1f}\" x2=\"{1:.0f}\" y2=\"{0:.1f}\"/>\n</svg>\n",
      kPlotBottom, kWidth);
  return svg;
}

}  // namespace dlo::harness
