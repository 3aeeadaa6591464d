// Owns: the second statement of the configuration matrix, rules.json: a small expression language.
// Must not own: anything of src/config; what it says comes from the file alone.
//   condition  {"field": V, "op": O, "value": literal} or {..., "other": V}; {"all": [...]},
//              {"any": [...]}, {"not": C}, {"condition": "name"}
//   O          == != < <= > >= not_in not_finite unset
//   value V    "options.name", the name of a quantity, {"literal": x}, {"product": [V, ...]},
//              {"remainder": [V, V]}, {"if": C, "then": V, "else": V}
// Failure: a malformed file throws; all and any stop at the first answer.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace dlo::config {

class RuleStatement {
 public:
  // `file` is the content of rules.json.
  explicit RuleStatement(nlohmann::json file) : file_(std::move(file)) {}

  // Sorted codes that `configuration` violates at `stage`, those of the missing features included
  // (one "not_in_this_product" each).
  [[nodiscard]] std::vector<std::string> violated_codes(const std::string& stage,
                                                        const nlohmann::json& configuration) const;

  // Subjects of the missing features that `configuration` asks for, in file order.
  [[nodiscard]] std::vector<std::string> missing_features(
      const nlohmann::json& configuration) const;

  // Value of a quantity by name.
  [[nodiscard]] nlohmann::json quantity(const std::string& name,
                                        const nlohmann::json& configuration) const;

  [[nodiscard]] std::vector<std::string> all_codes() const;

 private:
  [[nodiscard]] bool holds(const nlohmann::json& condition,
                           const nlohmann::json& configuration) const;
  [[nodiscard]] bool compares(const nlohmann::json& condition,
                              const nlohmann::json& configuration) const;
  [[nodiscard]] nlohmann::json value(const nlohmann::json& expression,
                                     const nlohmann::json& configuration) const;

  nlohmann::json file_;
};

}  // namespace dlo::config
