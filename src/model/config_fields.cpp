#include "model/config_fields.h"

#include <fmt/format.h>

#include "base/codes.h"
#include "base/error.h"
#include "base/json.h"

namespace dlo::model {

namespace {

using Json = nlohmann::json;

constexpr const char* kWhere = "transformer config.json";
// 2^24 is far above every published field, and keeps all products below within 64 bits.
constexpr std::int64_t kMostOfField = 1LL << 24U;
constexpr std::int64_t kMostOfTriple = 1024;

// Null when the field keeps its default.
const Json* given(const Json& config, const char* name) {
  const auto field = config.find(name);
  return field == config.end() || field->is_null() ? nullptr : &*field;
}

Status check_dtype(const ModelOptions& options, std::string_view what, DType dtype) {
  if (dtype == DType::kF32 || dtype == DType::kBF16) {
    return {};
  }
  return refuse(codes::kNotInThisProduct,
                fmt::format("{} {} is not supported", what, dtype_name(dtype)), options.component,
                "use F32 or BF16");
}

}  // namespace

Refusal bad_config_field(const std::string& name, const std::string& wanted) {
  return refuse(codes::kCheckpointInvalid, fmt::format("'{}' must be {}", name, wanted), kWhere,
                "use the config.json that belongs to the checkpoint");
}

Refusal unsupported_config(const std::string& what, const std::string& action) {
  return refuse(codes::kNotInThisProduct, what, kWhere, action);
}

std::optional<Refusal> read_integers(const Json& config, const std::vector<IntegerField>& fields) {
  for (const auto& [name, value] : fields) {
    const Json* field = given(config, name);
    if (field == nullptr) {
      continue;
    }
    if (!field->is_number_integer() || *field < 1 || *field > kMostOfField) {
      return bad_config_field(name, fmt::format("an integer from 1 to {}", kMostOfField));
    }
    *value = field->get<std::int64_t>();
  }
  return std::nullopt;
}

std::optional<Refusal> read_triple(const Json& config, const char* name,
                                   std::array<std::int64_t, 3>& value) {
  const Json* field = given(config, name);
  if (field == nullptr) {
    return std::nullopt;
  }
  if (!field->is_array() || field->size() != value.size()) {
    return bad_config_field(name, "a list of three integers");
  }
  for (std::size_t axis = 0; axis < value.size(); ++axis) {
    const Json& extent = (*field)[axis];
    if (!extent.is_number_integer() || extent < 1 || extent > kMostOfTriple) {
      return bad_config_field(name,
                              fmt::format("a list of three integers from 1 to {}", kMostOfTriple));
    }
    value[axis] = extent.get<std::int64_t>();
  }
  return std::nullopt;
}

std::optional<Refusal> read_positive(const Json& config, const char* name, double& value) {
  const Json* field = given(config, name);
  if (field == nullptr) {
    return std::nullopt;
  }
  if (!field->is_number() || *field <= 0.0) {
    return bad_config_field(name, "a positive number");
  }
  value = field->get<double>();
  return std::nullopt;
}

std::optional<Refusal> read_flag(const Json& config, const char* name, bool& value) {
  const auto field = config.find(name);
  if (field == config.end()) {
    return std::nullopt;
  }
  if (!field->is_boolean()) {
    return bad_config_field(name, "true or false");
  }
  value = field->get<bool>();
  return std::nullopt;
}

std::optional<Refusal> check_class(const Json& config, std::string_view class_name,
                                   const std::string& action) {
  if (!config.is_object()) {
    return refuse(codes::kCheckpointInvalid, "the model configuration is not a JSON object", kWhere,
                  "use the config.json that belongs to the checkpoint");
  }
  const auto named = config.find("_class_name");
  if (named != config.end() && *named != class_name) {
    return unsupported_config(fmt::format("class {} is not {}", named->dump(), class_name), action);
  }
  return std::nullopt;
}

Status check_model_options(const ModelOptions& options) {
  require(options.attention_query_chunk >= 1, "attention_query_chunk must be at least 1");
  if (auto status = check_dtype(options, "runtime dtype", options.runtime_dtype); !status) {
    return status;
  }
  return check_dtype(options, "compute dtype", options.compute_dtype);
}

}  // namespace dlo::model
