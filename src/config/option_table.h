// Owns: OptionRow, one row of the declarative option tables, and what every table is good for: JSON
// in and out, text of a command line in, defaults for help.
// Must not own: which options there are (config/option_rows.h), rules on values (config/rules.h) or
// a command-line library: the harness registers rows with the one it uses.
// Failure: unknown_option with the nearest known name; invalid_value for a wrong type or a number
// that does not fit. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace dlo::config {

enum class OptionType : std::uint8_t {
  kFlag,
  kInteger,
  kNumber,
  kText,
  kOptionalInteger,
  kOptionalText
};

// Any value that an option can have; the alternative's index is its OptionType.
using OptionValue = std::variant<bool, std::int64_t, double, std::string,
                                 std::optional<std::int64_t>, std::optional<std::string>>;

template <typename Options>
using OptionMember = std::variant<bool Options::*, std::int64_t Options::*, double Options::*,
                                  std::string Options::*, std::optional<std::int64_t> Options::*,
                                  std::optional<std::string> Options::*>;

template <typename Options>
struct OptionRow {
  std::string_view name;  // JSON key and member name
  OptionMember<Options> member;
  std::string_view unit;         // "bytes"; empty without one
  std::string_view cli;          // "--dlo-use-allgather"; empty: JSON only
  std::string_view cli_negated;  // spelling that switches a flag off; empty: none
  std::string_view help;         // one sentence

  [[nodiscard]] OptionType type() const { return static_cast<OptionType>(member.index()); }
};

// Value as JSON. Numbers that JSON lacks are written "nan", "inf" and "-inf"; unset is null.
[[nodiscard]] nlohmann::json value_to_json(const OptionValue& value);

// Inverse of value_to_json for option `name` of `type`. Codes: invalid_value.
[[nodiscard]] Result<OptionValue> value_from_json(std::string_view name, OptionType type,
                                                  const nlohmann::json& json);

// Value from a word of the command line: true, false, 1, 0; decimal numbers, nan, inf.
// Codes: invalid_value.
[[nodiscard]] Result<OptionValue> value_from_text(std::string_view name, OptionType type,
                                                  std::string_view text);

// "unknown option 'x'; did you mean 'y'?"
[[nodiscard]] Refusal unknown_option(std::string_view name,
                                     std::span<const std::string_view> known);

// "<what> must be a JSON object": `json` is something else.
[[nodiscard]] Refusal not_an_object(std::string_view what, const nlohmann::json& json);

template <typename Options>
[[nodiscard]] OptionValue get_option(const OptionRow<Options>& row, const Options& options) {
  return std::visit([&](const auto member) { return OptionValue(options.*member); }, row.member);
}

// Precondition: `value` holds the row's type (LogicError otherwise).
template <typename Options>
void set_option(const OptionRow<Options>& row, Options& options, OptionValue value) {
  require(value.index() == row.member.index(), "option value of another type");
  std::visit(
      [&](const auto member) {
        using Value = std::remove_reference_t<decltype(options.*member)>;
        options.*member = std::get<Value>(std::move(value));
      },
      row.member);
}

// Sets the option of `row` from a word of the command line; `options` is unchanged on refusal.
template <typename Options>
[[nodiscard]] Status set_from_text(const OptionRow<Options>& row, Options& options,
                                   std::string_view text) {
  auto value = value_from_text(row.name, row.type(), text);
  if (!value) {
    return value.refusal();
  }
  set_option(row, options, *value);
  return {};
}

// The default of an option, as JSON: what help prints.
template <typename Options>
[[nodiscard]] nlohmann::json default_of(const OptionRow<Options>& row) {
  return value_to_json(get_option(row, Options{}));
}

// All options of a table, defaults included.
template <typename Options>
[[nodiscard]] nlohmann::json table_to_json(std::span<const OptionRow<Options>> rows,
                                           const Options& options) {
  auto json = nlohmann::json::object();
  for (const auto& row : rows) {
    json[std::string(row.name)] = value_to_json(get_option(row, options));
  }
  return json;
}

// Defaults overwritten by the keys of the object `json`.
template <typename Options>
[[nodiscard]] Result<Options> table_from_json(std::span<const OptionRow<Options>> rows,
                                              const nlohmann::json& json, std::string_view what) {
  if (!json.is_object()) {
    return not_an_object(what, json);
  }
  Options options;
  for (const auto& [key, value] : json.items()) {
    const OptionRow<Options>* found = nullptr;
    std::vector<std::string_view> names;
    for (const auto& row : rows) {
      names.push_back(row.name);
      found = row.name == key ? &row : found;
    }
    if (found == nullptr) {
      return unknown_option(key, names);
    }
    auto parsed = value_from_json(found->name, found->type(), value);
    if (!parsed) {
      return parsed.refusal();
    }
    set_option(*found, options, *parsed);
  }
  return options;
}

}  // namespace dlo::config
