#include "host_weights/json_fields.h"

#include <fmt/format.h>

#include "base/codes.h"

namespace dlo::host_weights {

namespace {

using nlohmann::json;

constexpr std::int64_t kSizeLimit = std::int64_t{1} << 31U;

Refusal invalid(std::string what, std::string_view where) {
  return refuse(codes::kCheckpointInvalid, std::move(what), std::string(where),
                "correct the file or fetch it again");
}

// A value as it stands in the file, shortened for a message.
std::string value_text(const json& value) {
  constexpr std::size_t kLongest = 60;
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > kLongest) {
    text = text.substr(0, kLongest) + "...";
  }
  return text;
}

Result<const json*> present_field(const json& object, std::string_view field,
                                  std::string_view where) {
  const auto found = object.find(field);
  if (found == object.end()) {
    return invalid(fmt::format("field '{}' is missing", field), where);
  }
  return &*found;
}

Refusal wrong_kind(std::string_view field, const json& value, std::string_view wanted,
                   std::string_view where) {
  return invalid(fmt::format("field '{}' is {}, wanted {}", field, value_text(value), wanted),
                 where);
}

bool is_size(const json& value) {
  return value.is_number_integer() && value.get<std::int64_t>() >= 1 &&
         value.get<std::int64_t>() < kSizeLimit;
}

}  // namespace

Result<json> read_json_object(const platform::FileSystem& files, const platform::Path& path) {
  auto text = files.read_text(path, kJsonLimitBytes);
  if (!text) {
    return text.refusal();
  }
  json parsed = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) {
    return invalid("the file is not JSON", path.string());
  }
  if (!parsed.is_object()) {
    return invalid("the file holds no JSON object", path.string());
  }
  return parsed;
}

Result<std::string> text_field(const json& object, std::string_view field, std::string_view where) {
  const auto value = present_field(object, field, where);
  if (!value) {
    return value.refusal();
  }
  if (!(*value)->is_string()) {
    return wrong_kind(field, **value, "a text", where);
  }
  return (*value)->get<std::string>();
}

Result<bool> bool_field(const json& object, std::string_view field, std::string_view where) {
  const auto value = present_field(object, field, where);
  if (!value) {
    return value.refusal();
  }
  if (!(*value)->is_boolean()) {
    return wrong_kind(field, **value, "true or false", where);
  }
  return (*value)->get<bool>();
}

Result<double> number_field(const json& object, std::string_view field, std::string_view where) {
  const auto value = present_field(object, field, where);
  if (!value) {
    return value.refusal();
  }
  if (!(*value)->is_number()) {
    return wrong_kind(field, **value, "a number", where);
  }
  return (*value)->get<double>();
}

Result<std::int64_t> size_field(const json& object, std::string_view field,
                                std::string_view where) {
  const auto value = present_field(object, field, where);
  if (!value) {
    return value.refusal();
  }
  if (!is_size(**value)) {
    return wrong_kind(field, **value, "a whole number from 1 to 2147483647", where);
  }
  return (*value)->get<std::int64_t>();
}

Result<std::vector<std::int64_t>> sizes_field(const json& object, std::string_view field,
                                              std::size_t count, std::string_view where) {
  const auto value = present_field(object, field, where);
  if (!value) {
    return value.refusal();
  }
  std::vector<std::int64_t> sizes;
  if ((*value)->is_array()) {
    for (const auto& element : **value) {
      if (is_size(element)) {
        sizes.push_back(element.get<std::int64_t>());
      }
    }
  }
  if (sizes.size() != count || (*value)->size() != count) {
    return wrong_kind(field, **value, fmt::format("{} whole numbers above 0", count), where);
  }
  return sizes;
}

}  // namespace dlo::host_weights
