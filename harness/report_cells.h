// Owns: how one scenario's result reads in a table: its figures and words as cells.
// Must not own: which scenarios stand in which table (report_model.h) or a format. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/report_model.h"
#include "harness/results.h"

namespace dlo::harness {

// The outcome is runs or falls_back: there are outputs and figures.
[[nodiscard]] bool ran(const ScenarioResult& scenario);

// Models that ran, those with most scenarios first, otherwise in order of appearance.
[[nodiscard]] std::vector<std::string> models_by_weight(const Results& results);

// Null when the scenario has no such figure.
[[nodiscard]] const Metric* find_metric(const ScenarioResult& scenario, std::string_view name);

// "resident", "rank_local", "all_gather": asked for, and done ("" when nothing ran).
[[nodiscard]] std::string requested_transfer(const ScenarioResult& scenario);
[[nodiscard]] std::string effective_transfer(const ScenarioResult& scenario);
// Asked for; 0: whole block.
[[nodiscard]] std::uint64_t chunk_bytes(const ScenarioResult& scenario);

// ", gathered by nccl"; empty where nobody told who gathers.
[[nodiscard]] std::string gather_text(const ScenarioResult& scenario);

// "falls_back" -> "falls back".
[[nodiscard]] std::string outcome_text(std::string_view outcome);

// "ok" or "fell short".
[[nodiscard]] Cell verdict_cell(const ScenarioResult& scenario);

// The row of a scenario that ran, for the columns of the table of modes.
[[nodiscard]] std::vector<Cell> mode_cells(const ScenarioResult& scenario);

}  // namespace dlo::harness
