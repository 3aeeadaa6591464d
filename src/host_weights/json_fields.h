// Owns: reading typed fields of a JSON object of a checkpoint folder with one clear refusal each.
// Must not own: which fields a file has. Threading: pure functions.
// Failure: checkpoint_invalid, naming the field, its value and the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "platform/file_system.h"

namespace dlo::host_weights {

// Longest JSON file of a checkpoint folder that is read.
inline constexpr std::uint64_t kJsonLimitBytes = 256 * kMiB;

// The JSON object in `path`. Codes: those of FileSystem; checkpoint_invalid for anything else than
// an object.
[[nodiscard]] Result<nlohmann::json> read_json_object(const platform::FileSystem& files,
                                                      const platform::Path& path);

// `object[field]` of the wanted kind; `where` names the file.
[[nodiscard]] Result<std::string> text_field(const nlohmann::json& object, std::string_view field,
                                             std::string_view where);
[[nodiscard]] Result<bool> bool_field(const nlohmann::json& object, std::string_view field,
                                      std::string_view where);
[[nodiscard]] Result<double> number_field(const nlohmann::json& object, std::string_view field,
                                          std::string_view where);
// An integer in [1, 2^31): every size of a model configuration.
[[nodiscard]] Result<std::int64_t> size_field(const nlohmann::json& object, std::string_view field,
                                              std::string_view where);
[[nodiscard]] Result<std::vector<std::int64_t>> sizes_field(const nlohmann::json& object,
                                                            std::string_view field,
                                                            std::size_t count,
                                                            std::string_view where);

}  // namespace dlo::host_weights
