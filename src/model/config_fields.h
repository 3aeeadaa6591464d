// Owns: reading the fields of a transformer's config.json one by one, each with its refusal, and
// the check of what ModelOptions ask for. Shared by the model families.
// Must not own: which fields a family has (its own config file). Free of torch; pure functions.
// Failure: checkpoint_invalid naming the field, not_in_this_product for what no family does.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/model_factory.h"

namespace dlo::model {

[[nodiscard]] Refusal bad_config_field(const std::string& name, const std::string& wanted);
[[nodiscard]] Refusal unsupported_config(const std::string& what, const std::string& action);

// One integer field and where it goes.
struct IntegerField {
  const char* name;
  std::int64_t* value;
};

// Each reads what is there; a missing or null field keeps its default. None when all is well.
[[nodiscard]] std::optional<Refusal> read_integers(const nlohmann::json& config,
                                                   const std::vector<IntegerField>& fields);
[[nodiscard]] std::optional<Refusal> read_triple(const nlohmann::json& config, const char* name,
                                                 std::array<std::int64_t, 3>& value);
[[nodiscard]] std::optional<Refusal> read_positive(const nlohmann::json& config, const char* name,
                                                   double& value);
[[nodiscard]] std::optional<Refusal> read_flag(const nlohmann::json& config, const char* name,
                                               bool& value);
// Refuses what is no object, and a _class_name other than `class_name`.
[[nodiscard]] std::optional<Refusal> check_class(const nlohmann::json& config,
                                                 std::string_view class_name,
                                                 const std::string& action);

// Refuses (not_in_this_product) dtypes that no family has. Throws LogicError for a query chunk
// below 1.
[[nodiscard]] Status check_model_options(const ModelOptions& options);

}  // namespace dlo::model
