// Owns: finding and reading scenario files: which files a path means, their text, their digest.
// Must not own: their meaning (scenario.h). Failure: the first bad file is refused by name, and
// with it the whole set: nothing runs on half of what was asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "harness/scenario.h"
#include "platform/file_system.h"

namespace dlo::harness {

struct ScenarioSet {
  std::vector<Scenario> scenarios;  // in order of path, file name, matrix
  std::string digest;               // SHA-256 over names and texts of the files
};

// A path is a scenario file, or a folder whose .json files (subfolders too, schema.json apart) are
// scenarios. Codes: file_not_found, file_unreadable, unknown_option, invalid_value.
[[nodiscard]] Result<ScenarioSet> load_scenarios(const platform::FileSystem& files,
                                                 const std::vector<platform::Path>& paths,
                                                 std::uint64_t run_seed);

}  // namespace dlo::harness
