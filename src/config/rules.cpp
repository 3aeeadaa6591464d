#include "config/rules.h"

#include <algorithm>

#include "base/error.h"

namespace dlo::config {

std::string_view stage_name(Stage stage) {
  switch (stage) {
    case Stage::kConstruct:
      return "construct";
    case Stage::kNormalise:
      return "normalise";
    case Stage::kFactory:
      return "factory";
    case Stage::kLoader:
      return "loader";
    case Stage::kEngine:
      return "engine";
  }
  throw LogicError("stage without a name");
}

std::vector<Refusal> check_stage(Stage stage, const Configuration& configuration) {
  std::vector<Refusal> violations;
  for (const auto rules : {configuration_rules(), unsupported_rules()}) {
    for (const auto& rule : rules) {
      if (rule.stage == stage && rule.violated(configuration)) {
        violations.push_back(refuse(rule.code, rule.what(configuration), std::string(rule.subject),
                                    std::string(rule.action)));
      }
    }
  }
  std::stable_sort(violations.begin(), violations.end(),
                   [](const Refusal& a, const Refusal& b) { return a.code < b.code; });
  return violations;
}

}  // namespace dlo::config
