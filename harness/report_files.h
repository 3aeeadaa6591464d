// Owns: the two report files beside results.json, generated from Results alone.
// Must not own: their content (report_model.h and the formats).
// Failure: refusals with the path; each file appears whole or not at all.
#pragma once

#include <string_view>

#include "base/result.h"
#include "harness/results.h"
#include "platform/file_system.h"

namespace dlo::harness {

inline constexpr std::string_view kMarkdownFileName = "report.md";
inline constexpr std::string_view kHtmlFileName = "report.html";

[[nodiscard]] Status write_reports(platform::FileSystem& files, const platform::Path& directory,
                                   const Results& results);

}  // namespace dlo::harness
