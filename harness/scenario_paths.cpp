#include "harness/scenario_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/codes.h"
#include "base/nearest_name.h"

namespace dlo::harness {
namespace {

struct ShortName {
  std::string_view name;
  std::string_view pointer;
};

constexpr std::array kShortNames{
    ShortName{"dp", "/topology/dp"},
    ShortName{"sp", "/topology/sp"},
    ShortName{"tp", "/topology/tp"},
    ShortName{"hsdp", "/topology/hsdp"},
    ShortName{"transfer", "/transfer"},
    ShortName{"backing", "/backing"},
    ShortName{"chunk_bytes", "/options/dlo_chunk_bytes"},
    ShortName{"prefetch_depth", "/options/dlo_prefetch_depth"},
    ShortName{"checkpoint", "/model/checkpoint"},
    ShortName{"preset", "/model/preset"},
    ShortName{"blocks", "/model/blocks"},
    ShortName{"dtype", "/model/dtype"},
};

constexpr std::array<std::string_view, 7> kSections{"model",    "topology", "parallel", "options",
                                                    "platform", "faults",   "requests"};

bool matches(const Json& wanted, const Json& found) {
  if (wanted.is_array()) {
    return std::find(wanted.begin(), wanted.end(), found) != wanted.end();
  }
  return wanted == found;
}

}  // namespace

Result<Json::json_pointer> scenario_pointer(std::string_view name) {
  const auto row = std::find_if(kShortNames.begin(), kShortNames.end(),
                                [&](const ShortName& known) { return known.name == name; });
  if (row != kShortNames.end()) {
    return Json::json_pointer(std::string(row->pointer));
  }
  const std::size_t dot = name.find('.');
  const std::string_view section = name.substr(0, dot);
  if (dot != std::string_view::npos && dot + 1 < name.size() &&
      std::find(kSections.begin(), kSections.end(), section) != kSections.end()) {
    std::string pointer = fmt::format("/{}", name);
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    return Json::json_pointer(pointer);
  }
  std::vector<std::string_view> known(kSections.begin(), kSections.end());
  for (const ShortName& known_name : kShortNames) {
    known.push_back(known_name.name);
  }
  return refuse(codes::kUnknownOption, fmt::format("'{}' names no place of a scenario", name),
                std::string(name),
                suggest_name(section, known) + ", or give a path such as requests.steps");
}

Result<bool> condition_holds(const Json& when, const Json& document) {
  for (const auto& [name, wanted] : when.items()) {
    Result<Json::json_pointer> pointer = scenario_pointer(name);
    if (!pointer) {
      return pointer.refusal();
    }
    if (!document.contains(*pointer) || !matches(wanted, document.at(*pointer))) {
      return false;
    }
  }
  return true;
}

}  // namespace dlo::harness
