#include "harness/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/bytes.h"

namespace dlo::harness {
namespace {

// In units of the SVG's own coordinate system; the page scales it.
constexpr double kWidth = 640;
constexpr double kHeight = 244;
constexpr double kUnitTop = 12;
constexpr double kPlotTop = 36;
constexpr double kPlotBottom = 216;
constexpr double kBarGap = 4;
constexpr double kGroupWidthMax = 200;
constexpr double kGroupPadding = 0.13;  // of a group's width, on each side
constexpr double kLabelLift = 6;
constexpr double kCategoryDrop = 20;
constexpr double kManyDigits = 100;  // from here on one decimal is enough
constexpr double kVisibleBar = 2;    // a zero still shows where it stands

double largest_value(const BarChart& chart) {
  double largest = 0;
  for (const ChartSeries& series : chart.series) {
    for (const std::optional<double>& value : series.values) {
      largest = std::max(largest, value.value_or(0));
    }
  }
  return largest > 0 ? largest : 1;
}

struct Unit {
  std::uint64_t divisor;
  std::string name;
  int decimals;
};

// One unit for all bars keeps their labels short enough for a bar's width.
Unit unit_of(const BarChart& chart) {
  const double largest = largest_value(chart);
  if (!chart.unit.empty()) {
    return {1, chart.unit, largest >= kManyDigits ? 1 : 2};
  }
  for (const auto& [bytes, name] :
       {std::pair(kGiB, "GiB"), std::pair(kMiB, "MiB"), std::pair(kKiB, "KiB")}) {
    if (largest >= static_cast<double>(bytes)) {
      return {bytes, name, 2};
    }
  }
  return {1, "bytes", 0};
}

std::string bar_label(double value, const Unit& unit) {
  const double scaled = value / static_cast<double>(unit.divisor);
  return scaled == 0 ? "0" : fmt::format("{:.{}f}", scaled, unit.decimals);
}

struct BarPlace {
  double x;
  double width;
  double height;
};

std::string bar(const BarChart& chart, std::size_t series, std::size_t category,
                const BarPlace& place, const Unit& unit) {
  const double value = *chart.series[series].values[category];
  const double top = kPlotBottom - place.height;
  const std::string label = bar_label(value, unit);
  return fmt::format(
      "<rect class=\"series-{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
      "rx=\"2\"><title>{}, {}: {} {}</title></rect>\n"
      "<text class=\"value\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
      series, place.x, top, place.width, place.height, escape_html(chart.categories[category]),
      escape_html(chart.series[series].name), label, unit.name, place.x + place.width / 2,
      top - kLabelLift, label);
}

// The bars of one category, side by side from `left` on.
std::string bars_of(const BarChart& chart, std::size_t category, double left, double bar_width) {
  const double largest = largest_value(chart);
  const double scale = (kPlotBottom - kPlotTop) / largest;
  std::string svg;
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const std::vector<std::optional<double>>& values = chart.series[s].values;
    if (category >= values.size() || !values[category].has_value()) {
      continue;
    }
    const BarPlace place{.x = left + (bar_width + kBarGap) * static_cast<double>(s),
                         .width = bar_width,
                         .height = std::max(*values[category] * scale, kVisibleBar)};
    svg += bar(chart, s, category, place, unit_of(chart));
  }
  return svg;
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
  const auto group_count = static_cast<double>(std::max<std::size_t>(chart.categories.size(), 1));
  const auto series_count = static_cast<double>(std::max<std::size_t>(chart.series.size(), 1));
  const double group_width = std::min(kWidth / group_count, kGroupWidthMax);
  const double padding = group_width * kGroupPadding;
  const double bar_width =
      (group_width - 2 * padding - kBarGap * (series_count - 1)) / series_count;
  svg += fmt::format("<text class=\"unit\" x=\"0\" y=\"{:.1f}\">{}</text>\n", kUnitTop,
                     escape_html(unit_of(chart).name));
  for (std::size_t c = 0; c < chart.categories.size(); ++c) {
    const double group_x = group_width * static_cast<double>(c);
    svg += bars_of(chart, c, group_x + padding, bar_width);
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
