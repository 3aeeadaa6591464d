#include "config/option_table.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>
#include <type_traits>

#include "base/codes.h"
#include "base/nearest_name.h"

namespace dlo::config {

namespace {

std::string_view wanted(OptionType type) {
  switch (type) {
    case OptionType::kFlag:
      return "true or false";
    case OptionType::kInteger:
      return "a whole number of 64 bits";
    case OptionType::kNumber:
      return "a number";
    case OptionType::kText:
      return "a text";
    case OptionType::kOptionalInteger:
      return "a whole number of 64 bits, or none";
    case OptionType::kOptionalText:
      return "a text, or none";
  }
  throw LogicError("option type without a name");
}

Refusal invalid_value(std::string_view name, OptionType type, std::string_view got) {
  return refuse(codes::kInvalidValue,
                fmt::format("option {} cannot be {}", name, got.empty() ? "empty" : got),
                std::string(name), fmt::format("give {}", wanted(type)));
}

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional<Number>(number) : std::nullopt;
}

std::optional<bool> parse_flag(std::string_view text) {
  if (text == "true" || text == "1") {
    return true;
  }
  if (text == "false" || text == "0") {
    return false;
  }
  return std::nullopt;
}

std::optional<std::int64_t> integer_of(const nlohmann::json& json) {
  if (json.is_number_unsigned()) {
    const auto number = json.get<std::uint64_t>();
    constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
    return number <= kMax ? std::optional(static_cast<std::int64_t>(number)) : std::nullopt;
  }
  return json.is_number_integer() ? std::optional(json.get<std::int64_t>()) : std::nullopt;
}

// JSON has no NaN or infinity; scenarios that refuse them write the names.
std::optional<double> number_of(const nlohmann::json& json) {
  if (json.is_number()) {
    return json.get<double>();
  }
  if (json.is_string()) {
    const auto number = parse_number<double>(json.get_ref<const std::string&>());
    return number && !std::isfinite(*number) ? number : std::nullopt;
  }
  return std::nullopt;
}

std::optional<OptionValue> from_text(OptionType type, std::string_view text) {
  const auto wrap = [](const auto& parsed) {
    return parsed ? std::optional<OptionValue>(*parsed) : std::nullopt;
  };
  switch (type) {
    case OptionType::kFlag:
      return wrap(parse_flag(text));
    case OptionType::kInteger:
      return wrap(parse_number<std::int64_t>(text));
    case OptionType::kNumber:
      return wrap(parse_number<double>(text));
    case OptionType::kText:
      return OptionValue(std::string(text));
    case OptionType::kOptionalInteger: {
      const auto parsed = parse_number<std::int64_t>(text);
      return parsed ? std::optional<OptionValue>(parsed) : std::nullopt;
    }
    case OptionType::kOptionalText:
      return OptionValue(std::optional<std::string>(text));
  }
  throw LogicError("option type without a parser");
}

std::optional<OptionValue> from_json(OptionType type, const nlohmann::json& json) {
  switch (type) {
    case OptionType::kFlag:
      return json.is_boolean() ? std::optional<OptionValue>(json.get<bool>()) : std::nullopt;
    case OptionType::kInteger: {
      const auto parsed = integer_of(json);
      return parsed ? std::optional<OptionValue>(*parsed) : std::nullopt;
    }
    case OptionType::kNumber: {
      const auto parsed = number_of(json);
      return parsed ? std::optional<OptionValue>(*parsed) : std::nullopt;
    }
    case OptionType::kText:
      return json.is_string() ? std::optional<OptionValue>(json.get<std::string>()) : std::nullopt;
    case OptionType::kOptionalInteger: {
      const auto parsed = integer_of(json);
      return json.is_null() || parsed ? std::optional<OptionValue>(parsed) : std::nullopt;
    }
    case OptionType::kOptionalText:
      if (json.is_null()) {
        return OptionValue(std::optional<std::string>());
      }
      return json.is_string()
                 ? std::optional<OptionValue>(std::optional<std::string>(json.get<std::string>()))
                 : std::nullopt;
  }
  throw LogicError("option type without a parser");
}

}  // namespace

nlohmann::json value_to_json(const OptionValue& value) {
  return std::visit(
      [](const auto& held) -> nlohmann::json {
        using Held = std::remove_cvref_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::optional<std::int64_t>> ||
                      std::is_same_v<Held, std::optional<std::string>>) {
          return held ? nlohmann::json(*held) : nlohmann::json(nullptr);
        } else if constexpr (std::is_same_v<Held, double>) {
          return std::isfinite(held)
                     ? nlohmann::json(held)
                     : nlohmann::json(fmt::format("{}", std::isnan(held) ? std::fabs(held) : held));
        } else {
          return nlohmann::json(held);
        }
      },
      value);
}

Result<OptionValue> value_from_json(std::string_view name, OptionType type,
                                    const nlohmann::json& json) {
  auto value = from_json(type, json);
  if (!value) {
    return invalid_value(name, type,
                         json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  return *std::move(value);
}

Result<OptionValue> value_from_text(std::string_view name, OptionType type, std::string_view text) {
  auto value = from_text(type, text);
  if (!value) {
    return invalid_value(name, type, text);
  }
  return *std::move(value);
}

Refusal unknown_option(std::string_view name, std::span<const std::string_view> known) {
  return refuse(codes::kUnknownOption, fmt::format("unknown option '{}'", name), std::string(name),
                suggest_name(name, known));
}

Refusal not_an_object(std::string_view what, const nlohmann::json& json) {
  return refuse(codes::kInvalidValue, fmt::format("{} must be a JSON object", what),
                fmt::format("found {}", json.type_name()), "write { \"option\": value, ... }");
}

}  // namespace dlo::config
