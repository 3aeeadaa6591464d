#include "host_weights/load_coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/codes.h"

namespace dlo::host_weights {

namespace {

constexpr std::array<std::string_view, 2> kScaleSuffixes = {"weight_scale", "input_scale"};
constexpr std::array<std::string_view, 4> kQuantizedSuffixes = {
    ".g_idx", ".weight_scale", ".weight_scale_inv", ".input_scale"};

template <std::size_t kCount>
bool ends_with_any(std::string_view name, const std::array<std::string_view, kCount>& suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [name](std::string_view suffix) { return name.ends_with(suffix); });
}

bool is_tolerated(std::string_view name, bool quantized) {
  return ends_with_any(name, kScaleSuffixes) ||
         (quantized && ends_with_any(name, kQuantizedSuffixes));
}

}  // namespace

std::vector<std::string> expected_names(const std::vector<std::string>& parameters,
                                        const std::vector<std::string>& source_prefixes) {
  const bool all = source_prefixes.empty() ||
                   std::any_of(source_prefixes.begin(), source_prefixes.end(),
                               [](const std::string& prefix) { return prefix.empty(); });
  if (all) {
    return parameters;
  }
  std::vector<std::string> expected;
  for (const auto& name : parameters) {
    if (std::any_of(source_prefixes.begin(), source_prefixes.end(),
                    [&name](const std::string& prefix) { return name.starts_with(prefix); })) {
      expected.push_back(name);
    }
  }
  return expected;
}

Result<CoverageReport> check_coverage(const CoverageRequest& request) {
  CoverageReport report;
  if (!request.reported) {
    return report;
  }
  report.checked = true;
  std::vector<std::string> missing;
  for (const auto& name : expected_names(request.parameters, request.source_prefixes)) {
    if (request.reported->contains(name) || request.planned.contains(name)) {
      continue;
    }
    (is_tolerated(name, request.quantized) ? report.tolerated : missing).push_back(name);
  }
  if (!missing.empty()) {
    return refuse(codes::kMissingTensor,
                  fmt::format("{} of the model's tensors are in none of its sources: {}",
                              missing.size(), first_names(missing)),
                  "strict coverage", "use a checkpoint that stores each tensor under its own name");
  }
  std::sort(report.tolerated.begin(), report.tolerated.end());
  return report;
}

std::string first_names(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i) {
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", names[i]);
  }
  if (names.size() > kShown) {
    text += fmt::format(" and {} more", names.size() - kShown);
  }
  return text;
}

}  // namespace dlo::host_weights
