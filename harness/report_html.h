// Owns: a Report as one self-contained HTML page: styles and charts inside, no script, no network;
// light and dark follow the reader's setting.
// Must not own: what the report says (report_model.h). Pure; same report, same text.
#pragma once

#include <string>

#include "harness/report_model.h"

namespace dlo::harness {

[[nodiscard]] std::string to_html(const Report& report);

}  // namespace dlo::harness
