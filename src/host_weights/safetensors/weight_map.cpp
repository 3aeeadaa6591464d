#include "host_weights/safetensors/weight_map.h"

#include <set>
#include <vector>

#include "base/codes.h"
#include "base/json.h"
#include "host_weights/safetensors/quoted_name.h"

namespace dlo::host_weights {

namespace {

using nlohmann::json;

// 2^53: above it a JSON number written as a float no longer counts single bytes.
constexpr double kLargestExactFloat = 9007199254740992.0;

Refusal invalid(std::string what, std::string_view where) {
  return refuse(codes::kIndexInvalid, std::move(what), std::string(where),
                "replace the index file: it is damaged or was written by hand");
}

// Parses `text`; usual JSON readers keep the last of two equal keys, here they are an error.
Result<json> parse_without_repeats(const std::string& text, std::string_view where) {
  std::vector<std::set<std::string>> open_objects;
  std::optional<std::string> repeated;
  const auto watch = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) {
      open_objects.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      open_objects.pop_back();
    } else if (event == json::parse_event_t::key &&
               !open_objects.back().insert(parsed.get<std::string>()).second && !repeated) {
      repeated = parsed.get<std::string>();
    }
    return true;
  };
  json value;
  try {
    value = json::parse(text, watch);
  } catch (const json::exception& error) {  // a number too large is no parse_error
    return invalid("not JSON: " + printable_text(error.what()), where);
  }
  if (repeated) {
    return invalid("duplicate key " + quoted_name(*repeated), where);
  }
  return value;
}

// A name inside the index's own folder: anything else could reach files that nobody meant.
bool is_plain_file_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
}

Status read_shard_names(const json& weight_map, std::string_view where, WeightMap& map) {
  for (const auto& [tensor, shard] : weight_map.items()) {
    if (!shard.is_string()) {
      return invalid("the shard of tensor " + quoted_name(tensor) + " is not a string but " +
                         shard.type_name(),
                     where);
    }
    auto name = shard.get<std::string>();
    if (!is_plain_file_name(name)) {
      return invalid("the shard of tensor " + quoted_name(tensor) +
                         " is not a plain file name: " + quoted_name(name),
                     where);
    }
    map.shard_of.emplace(tensor, std::move(name));
  }
  return {};
}

// Some writers put the integer down as 1.0e9.
Result<std::uint64_t> byte_count(const json& value, std::string_view where) {
  if (value.is_number_unsigned()) {
    return value.get<std::uint64_t>();
  }
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    if (number >= 0 && number <= kLargestExactFloat) {
      return static_cast<std::uint64_t>(number);
    }
  }
  return invalid("metadata.total_size is not a number of bytes", where);
}

}  // namespace

Result<WeightMap> parse_weight_map(const std::string& text, std::string_view where) {
  const auto parsed = parse_without_repeats(text, where);
  if (!parsed) {
    return parsed.refusal();
  }
  const json& index = *parsed;
  if (!index.is_object() || !index.contains("weight_map") || !index.at("weight_map").is_object()) {
    return invalid("no object `weight_map`", where);
  }
  WeightMap map;
  if (const auto status = read_shard_names(index.at("weight_map"), where, map); !status) {
    return status.refusal();
  }
  if (map.shard_of.empty()) {
    return invalid("`weight_map` names no tensor", where);
  }
  const auto metadata = index.value("metadata", json());
  if (metadata.is_object() && metadata.contains("total_size")) {
    const auto bytes = byte_count(metadata.at("total_size"), where);
    if (!bytes) {
      return bytes.refusal();
    }
    map.total_size_bytes = *bytes;
  }
  return map;
}

}  // namespace dlo::host_weights
