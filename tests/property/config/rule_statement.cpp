#include "tests/property/config/rule_statement.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace dlo::config {

namespace {

using nlohmann::json;

// Numbers that JSON lacks stand as texts; they compare as the numbers they name.
double number(const json& value) {
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

bool names_a_number(const json& value) {
  return value.is_number() || value == "nan" || value == "inf" || value == "-inf";
}

bool equal(const json& a, const json& b) {
  return names_a_number(a) && names_a_number(b) ? number(a) == number(b) : a == b;
}

bool order_holds(const std::string& op, double a, double b) {
  if (op == "<") {
    return a < b;
  }
  if (op == "<=") {
    return a <= b;
  }
  if (op == ">") {
    return a > b;
  }
  if (op == ">=") {
    return a >= b;
  }
  throw std::invalid_argument("unknown operator " + op);
}

}  // namespace

bool RuleStatement::compares(const json& condition, const json& configuration) const {
  const json left = value(condition.at("field"), configuration);
  const auto op = condition.at("op").get<std::string>();
  if (op == "unset") {
    return left.is_null();
  }
  if (op == "not_finite") {
    return !std::isfinite(number(left));
  }
  const json right = condition.contains("other") ? value(condition.at("other"), configuration)
                                                 : condition.at("value");
  if (op == "==") {
    return equal(left, right);
  }
  if (op == "!=") {
    return !equal(left, right);
  }
  if (op == "not_in") {
    return std::none_of(right.begin(), right.end(),
                        [&](const json& item) { return equal(left, item); });
  }
  return order_holds(op, number(left), number(right));
}

bool RuleStatement::holds(const json& condition, const json& configuration) const {
  const auto part_holds = [&](const json& part) { return holds(part, configuration); };
  if (condition.contains("all")) {
    const auto& parts = condition.at("all");
    return std::all_of(parts.begin(), parts.end(), part_holds);
  }
  if (condition.contains("any")) {
    const auto& parts = condition.at("any");
    return std::any_of(parts.begin(), parts.end(), part_holds);
  }
  if (condition.contains("not")) {
    return !part_holds(condition.at("not"));
  }
  if (condition.contains("condition")) {
    return part_holds(file_.at("conditions").at(condition.at("condition").get<std::string>()));
  }
  return compares(condition, configuration);
}

json RuleStatement::value(const json& expression, const json& configuration) const {
  if (expression.is_string()) {
    const auto name = expression.get<std::string>();
    const auto dot = name.find('.');
    return dot == std::string::npos
               ? value(file_.at("quantities").at(name), configuration)
               : configuration.at(name.substr(0, dot)).at(name.substr(dot + 1));
  }
  if (expression.contains("literal")) {
    return expression.at("literal");
  }
  if (expression.contains("product")) {
    double product = 1;
    for (const auto& factor : expression.at("product")) {
      product *= number(value(factor, configuration));
    }
    return product;
  }
  if (expression.contains("remainder")) {
    const auto& pair = expression.at("remainder");
    return std::fmod(number(value(pair.at(0), configuration)),
                     number(value(pair.at(1), configuration)));
  }
  return value(
      holds(expression.at("if"), configuration) ? expression.at("then") : expression.at("else"),
      configuration);
}

json RuleStatement::quantity(const std::string& name, const json& configuration) const {
  return value(file_.at("quantities").at(name), configuration);
}

std::vector<std::string> RuleStatement::missing_features(const json& configuration) const {
  std::vector<std::string> subjects;
  for (const auto& row : file_.at("not_in_this_product")) {
    if (holds(row.at("when"), configuration)) {
      subjects.push_back(row.at("subject"));
    }
  }
  return subjects;
}

std::vector<std::string> RuleStatement::violated_codes(const std::string& stage,
                                                       const json& configuration) const {
  std::vector<std::string> codes;
  for (const auto& rule : file_.at("rules")) {
    if (rule.at("stage") == stage && holds(rule.at("when"), configuration)) {
      codes.push_back(rule.at("code"));
    }
  }
  if (stage == "engine") {
    codes.resize(codes.size() + missing_features(configuration).size(), "not_in_this_product");
  }
  std::sort(codes.begin(), codes.end());
  return codes;
}

std::vector<std::string> RuleStatement::all_codes() const {
  std::vector<std::string> codes;
  for (const auto& rule : file_.at("rules")) {
    codes.push_back(rule.at("code"));
  }
  return codes;
}

}  // namespace dlo::config
