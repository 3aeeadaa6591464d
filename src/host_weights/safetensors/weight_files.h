// Owns: the choice which files of a path hold a component's weights.
// Must not own: their contents (weight_map.h, reader.h). Threading: pure function over FileSystem.
// Failure: file_not_found, file_unreadable, ambiguous_index, unsupported_format, empty_checkpoint.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "platform/file_system.h"

namespace dlo::host_weights {

struct WeightFiles {
  platform::Path path;              // the index, or the only safetensors file
  bool is_index = false;            // what `path` is
  std::vector<std::string> strays;  // safetensors files in an index's folder, by name
};

// `path`: a safetensors file, an index file or a component's folder.
[[nodiscard]] Result<WeightFiles> find_weight_files(const platform::FileSystem& files,
                                                    const platform::Path& path);

}  // namespace dlo::host_weights
