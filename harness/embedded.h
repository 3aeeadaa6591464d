// Owns: access to the texts that the build puts into the program: the scenario schema and the
// report's style sheet, so that the binary needs no file beside it.
// Must not own: their meaning. Generated sources (cmake/embed_text.cmake) implement it.
#pragma once

#include <string_view>

namespace dlo::harness {

[[nodiscard]] std::string_view scenario_schema_text();  // scenarios/schema.json
[[nodiscard]] std::string_view report_style_css();      // harness/report_style.css

}  // namespace dlo::harness
