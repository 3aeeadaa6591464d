// Owns: a Report as GitHub-flavoured Markdown. Charts become tables.
// Must not own: what the report says (report_model.h). Pure; same report, same text.
#pragma once

#include <string>

#include "harness/report_model.h"

namespace dlo::harness {

[[nodiscard]] std::string to_markdown(const Report& report);

}  // namespace dlo::harness
