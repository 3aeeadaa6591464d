#include "harness/scenario_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>
#include <vector>

#include "base/codes.h"
#include "base/nearest_name.h"
#include "harness/embedded.h"

namespace dlo::harness {
namespace {

const nlohmann::json& schema_document() {
  static const nlohmann::json document = nlohmann::json::parse(scenario_schema_text());
  return document;
}

const valijson::Schema& compiled_schema() {
  static const auto schema = [] {
    auto made = std::make_unique<valijson::Schema>();
    const valijson::adapters::NlohmannJsonAdapter adapter(schema_document());
    valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(adapter, *made);
    return made;
  }();
  return *schema;
}

// valijson says that a key is unknown, not which one was meant; this walk finds it first.
std::optional<Refusal> find_unknown_key(const nlohmann::json& schema, const Json& document,
                                        const std::string& place, const std::string& where) {
  if (document.is_array() && schema.contains("items")) {
    for (std::size_t i = 0; i < document.size(); ++i) {
      auto found = find_unknown_key(schema.at("items"), document.at(i),
                                    fmt::format("{}/{}", place, i), where);
      if (found) {
        return found;
      }
    }
  }
  if (!document.is_object() || !schema.contains("properties")) {
    return std::nullopt;
  }
  const nlohmann::json& properties = schema.at("properties");
  for (const auto& [key, value] : document.items()) {
    if (!properties.contains(key)) {
      std::vector<std::string> names;
      for (const auto& [name, unused] : properties.items()) {
        names.push_back(name);
      }
      const std::vector<std::string_view> known(names.begin(), names.end());
      return refuse(codes::kUnknownOption,
                    fmt::format("unknown key '{}' at {}", key, place.empty() ? "/" : place), where,
                    suggest_name(key, known));
    }
    auto found =
        find_unknown_key(properties.at(key), value, fmt::format("{}/{}", place, key), where);
    if (found) {
      return found;
    }
  }
  return std::nullopt;
}

// The most specific of valijson's findings: the last one with the longest path.
std::string deepest_finding(valijson::ValidationResults& results) {
  valijson::ValidationResults::Error error;
  std::string text = "does not follow the schema";
  std::size_t depth = 0;
  while (results.popError(error)) {
    if (error.context.size() >= depth) {
      depth = error.context.size();
      std::string place;
      for (std::size_t i = 1; i < error.context.size(); ++i) {
        place += error.context[i];
      }
      text = fmt::format("{}: {}", place.empty() ? "/" : place, error.description);
    }
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

Status check_schema(const Json& document, const std::string& where) {
  if (auto unknown = find_unknown_key(schema_document(), document, "", where)) {
    return *unknown;
  }
  const nlohmann::json plain = document;
  const valijson::adapters::NlohmannJsonAdapter adapter(plain);
  valijson::Validator validator;
  valijson::ValidationResults results;
  if (!validator.validate(compiled_schema(), adapter, &results)) {
    return refuse(codes::kInvalidValue, deepest_finding(results), where,
                  "scenarios/schema.json says what is allowed there");
  }
  return {};
}

}  // namespace dlo::harness
