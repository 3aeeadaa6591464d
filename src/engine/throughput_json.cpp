#include "engine/throughput_json.h"

#include "config/option_rows.h"
#include "engine/run_report_json.h"

namespace dlo::telemetry {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Percentiles, p50, p99)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TimelineRow, begin, end, rank, lane, name)

}  // namespace dlo::telemetry

namespace dlo::engine {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CalibrationFigure, name, unit, value, low, high, samples)

using nlohmann::json;
using telemetry::BlockTimingSummary;
using telemetry::Percentiles;

namespace {

template <typename T>
json null_or(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

template <typename T>
void read_optional(const json& object, const char* name, std::optional<T>& value) {
  if (!object.at(name).is_null()) {
    value = object.at(name).get<T>();
  }
}

struct PercentileField {
  const char* name;
  Percentiles BlockTimingSummary::*field;
};
constexpr PercentileField kPercentiles[] = {
    {"compute_ms", &BlockTimingSummary::compute_ms},
    {"h2d_ms", &BlockTimingSummary::h2d_ms},
    {"gather_ms", &BlockTimingSummary::gather_ms},
    {"dispatch_us", &BlockTimingSummary::dispatch_us},
    {"launch_us", &BlockTimingSummary::launch_us},
};

struct TotalField {
  const char* name;
  double BlockTimingSummary::*field;
};
constexpr TotalField kTotals[] = {
    {"other_compute_ms", &BlockTimingSummary::other_compute_ms},
    {"host_pack_s", &BlockTimingSummary::host_pack_s},
    {"comm_kernel_s", &BlockTimingSummary::comm_kernel_s},
    {"gpu_compute_s", &BlockTimingSummary::gpu_compute_s},
    {"h2d_calls", &BlockTimingSummary::h2d_calls},
    {"h2d_bytes", &BlockTimingSummary::h2d_bytes},
};

BlockTimingSummary block_summary_from_json(const json& object) {
  BlockTimingSummary summary;
  object.at("forwards").get_to(summary.forwards);
  object.at("unmarked").get_to(summary.unmarked);
  for (const auto& row : kPercentiles) {
    object.at(row.name).get_to(summary.*row.field);
  }
  for (const auto& row : kTotals) {
    object.at(row.name).get_to(summary.*row.field);
  }
  read_optional(object, "exposed_us", summary.exposed_us);
  return summary;
}

MachineCalibration calibration_from_json(const json& object) {
  MachineCalibration calibration;
  object.at("block_bytes").get_to(calibration.block_bytes);
  object.at("piece_bytes").get_to(calibration.piece_bytes);
  object.at("gemm_size").get_to(calibration.gemm_size);
  object.at("gemm_count").get_to(calibration.gemm_count);
  object.at("figures").get_to(calibration.figures);
  object.at("link_bytes_per_s").get_to(calibration.link_bytes_per_s);
  object.at("pack_threads").get_to(calibration.pack_threads);
  object.at("pack_copy_bytes_per_s").get_to(calibration.pack_copy_bytes_per_s);
  return calibration;
}

json arm_to_json(const ArmMeasurement& arm) {
  return json{{"name", arm.name},
              {"rank", rank_report_to_json(arm.rank)},
              {"forward_ms", arm.forward_ms},
              {"output_sha256", arm.output_sha256},
              {"compared_forwards", arm.compared_forwards},
              {"different_forwards", arm.different_forwards},
              {"weight_bytes", arm.weight_bytes},
              {"h2d_bytes_per_forward", arm.h2d_bytes_per_forward},
              {"gather_bytes_per_forward", arm.gather_bytes_per_forward},
              {"blocks", arm.blocks ? block_summary_to_json(*arm.blocks) : json(nullptr)},
              {"trace", arm.trace.rows},
              {"predicted_ms", null_or(arm.predicted_ms)},
              {"prediction_note", arm.prediction_note},
              {"nvlink_received_bytes", null_or(arm.counters.nvlink_received_bytes)},
              {"energy_mj", null_or(arm.counters.energy_mj)},
              {"energy_ns", null_or(arm.counters.energy_ns)},
              {"power_limit_mw", null_or(arm.counters.power_limit_mw)},
              {"used_bytes", null_or(arm.counters.used_bytes)},
              {"allocator_peak_bytes", null_or(arm.counters.allocator_peak_bytes)},
              {"absent_reason", arm.counters.absent_reason},
              {"counted_forwards", arm.counted_forwards}};
}

ArmMeasurement arm_from_json(const json& object) {
  ArmMeasurement arm;
  object.at("name").get_to(arm.name);
  arm.rank = rank_report_from_json(object.at("rank"));
  object.at("forward_ms").get_to(arm.forward_ms);
  object.at("output_sha256").get_to(arm.output_sha256);
  object.at("compared_forwards").get_to(arm.compared_forwards);
  object.at("different_forwards").get_to(arm.different_forwards);
  object.at("weight_bytes").get_to(arm.weight_bytes);
  object.at("h2d_bytes_per_forward").get_to(arm.h2d_bytes_per_forward);
  object.at("gather_bytes_per_forward").get_to(arm.gather_bytes_per_forward);
  if (!object.at("blocks").is_null()) {
    arm.blocks = block_summary_from_json(object.at("blocks"));
  }
  object.at("trace").get_to(arm.trace.rows);
  read_optional(object, "predicted_ms", arm.predicted_ms);
  object.at("prediction_note").get_to(arm.prediction_note);
  read_optional(object, "nvlink_received_bytes", arm.counters.nvlink_received_bytes);
  read_optional(object, "energy_mj", arm.counters.energy_mj);
  read_optional(object, "energy_ns", arm.counters.energy_ns);
  read_optional(object, "power_limit_mw", arm.counters.power_limit_mw);
  read_optional(object, "used_bytes", arm.counters.used_bytes);
  read_optional(object, "allocator_peak_bytes", arm.counters.allocator_peak_bytes);
  object.at("absent_reason").get_to(arm.counters.absent_reason);
  object.at("counted_forwards").get_to(arm.counted_forwards);
  return arm;
}

}  // namespace

json throughput_spec_to_json(const std::optional<ThroughputSpec>& spec) {
  if (!spec) {
    return nullptr;
  }
  json arms = json::array();
  for (const auto& arm : spec->arms) {
    arms.push_back({{"name", arm.name}, {"options", config::options_to_json(arm.options)}});
  }
  return json{{"arms", arms},
              {"rounds", spec->rounds},
              {"forwards", spec->forwards},
              {"warmups", spec->warmups},
              {"traced_forwards", spec->traced_forwards},
              {"check_every_forward", spec->check_every_forward},
              {"calibrate", spec->calibrate},
              {"gemm_size", spec->gemm_size},
              {"timestep", spec->timestep}};
}

json block_summary_to_json(const BlockTimingSummary& summary) {
  json object{{"forwards", summary.forwards},
              {"unmarked", summary.unmarked},
              {"exposed_us", null_or(summary.exposed_us)}};
  for (const auto& row : kPercentiles) {
    object[row.name] = summary.*row.field;
  }
  for (const auto& row : kTotals) {
    object[row.name] = summary.*row.field;
  }
  return object;
}

json calibration_figures_to_json(const MachineCalibration& calibration) {
  return json{{"block_bytes", calibration.block_bytes},
              {"piece_bytes", calibration.piece_bytes},
              {"gemm_size", calibration.gemm_size},
              {"gemm_count", calibration.gemm_count},
              {"figures", calibration.figures},
              {"link_bytes_per_s", calibration.link_bytes_per_s},
              {"pack_threads", calibration.pack_threads},
              {"pack_copy_bytes_per_s", calibration.pack_copy_bytes_per_s}};
}

json throughput_report_to_json(const ThroughputReport& report) {
  json arms = json::array();
  for (const auto& arm : report.arms) {
    arms.push_back(arm_to_json(arm));
  }
  return json{{"calibration", calibration_figures_to_json(report.calibration)}, {"arms", arms}};
}

ThroughputReport throughput_report_from_json(const json& object) {
  ThroughputReport report;
  report.calibration = calibration_from_json(object.at("calibration"));
  for (const auto& arm : object.at("arms")) {
    report.arms.push_back(arm_from_json(arm));
  }
  return report;
}

}  // namespace dlo::engine
