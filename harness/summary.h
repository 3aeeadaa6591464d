// Owns: the table that a run ends with on the terminal or in the pipe: a line a model and topology,
// a line for refusals, the verdict. Must not own: the report (report_model.h). Pure.
#pragma once

#include <string>

#include "harness/results.h"

namespace dlo::harness {

[[nodiscard]] std::string summary_text(const Results& results);

}  // namespace dlo::harness
