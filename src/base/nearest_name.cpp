#include "base/nearest_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace dlo {

namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view name, std::span<const std::string_view> known) {
  std::size_t best_distance = std::numeric_limits<std::size_t>::max();
  std::string_view best;
  for (const auto candidate : known) {
    const auto distance = edit_distance(name, candidate);
    if (distance < best_distance && distance <= std::max(name.size(), candidate.size()) / 2) {
      best_distance = distance;
      best = candidate;
    }
  }
  return std::string(best);
}

std::string suggest_name(std::string_view name, std::span<const std::string_view> known) {
  const auto nearest = nearest_name(name, known);
  return nearest.empty() ? fmt::format("known names: {}", fmt::join(known, ", "))
                         : fmt::format("did you mean '{}'?", nearest);
}

}  // namespace dlo
