// Owns: the JSON form of a throughput run: its specification (for the digest that ranks agree on)
// and one rank's report (sent to rank 0; the harness writes parts of it into results.json).
// Must not own: what follows over ranks (harness). Failure: as engine/run_report_json.h.
#pragma once

#include <optional>

#include "base/json.h"
#include "engine/throughput_report.h"

namespace dlo::engine {

[[nodiscard]] nlohmann::json throughput_spec_to_json(const std::optional<ThroughputSpec>& spec);

[[nodiscard]] nlohmann::json throughput_report_to_json(const ThroughputReport& report);
[[nodiscard]] ThroughputReport throughput_report_from_json(const nlohmann::json& json);

[[nodiscard]] nlohmann::json calibration_figures_to_json(const MachineCalibration& calibration);
[[nodiscard]] nlohmann::json block_summary_to_json(const telemetry::BlockTimingSummary& summary);

}  // namespace dlo::engine
