// Owns: ThroughputReport, what one rank measured in a throughput run: its calibration, and each
// arm's forwards, bytes, block times and prediction.
// Must not own: what follows over all ranks (harness/throughput_summary.h), the run itself.
// Plain values; JSON form in engine/throughput_json.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device_counters.h"
#include "engine/run_report.h"
#include "telemetry/block_timing.h"
#include "telemetry/timeline.h"

namespace dlo::engine {

// One figure of the machine, measured in this run.
struct CalibrationFigure {
  std::string name;
  std::string unit;
  double value = 0;  // median, or the estimate that `low` and `high` bound
  double low = 0;    // least sample, or the interval's end
  double high = 0;   // largest sample, or the interval's other end
  std::uint64_t samples = 0;
};

// The names of figures: h2d_alone_bytes_per_s, h2d_together_bytes_per_s, gather_ms,
// gather_bytes_per_s (output bytes), gemm_alone_ms, gemm_loss_beside_{h2d,gather,shard}_ms,
// event_ns, copy_ns, gather_ns; with staged transfers pack_copy_bytes_per_s.
struct MachineCalibration {
  std::uint64_t block_bytes = 0;  // what was copied and gathered
  std::uint64_t piece_bytes = 0;  // one rank's part of it
  std::int64_t gemm_size = 0;
  std::uint32_t gemm_count = 0;  // of one series
  std::vector<CalibrationFigure> figures;
  // H2D of all ranks at once, bytes/s of the slowest, before each round and behind the last one: a
  // host that others use has other rates at other times. Empty: not calibrated.
  std::vector<double> link_bytes_per_s;
  std::uint32_t pack_threads = 0;  // of staged transfers on the rank that has most; 0: none
  // Packing and copying at the same times; empty where nothing is staged.
  std::vector<double> pack_copy_bytes_per_s;

  [[nodiscard]] const CalibrationFigure* find(std::string_view name) const;
};

struct ArmMeasurement {
  std::string name;
  RankReport rank;                              // as the arm's worker leaves it
  std::vector<std::vector<double>> forward_ms;  // by round, of this rank
  std::string output_sha256;                    // of the baseline's request on this rank
  std::uint32_t compared_forwards = 0;
  std::uint32_t different_forwards = 0;  // whose bytes are not the baseline's
  std::uint64_t weight_bytes = 0;        // of all blocks, unpadded
  std::uint64_t h2d_bytes_per_forward = 0;
  std::uint64_t gather_bytes_per_forward = 0;  // received from peers
  std::optional<telemetry::BlockTimingSummary> blocks;
  telemetry::Timeline trace;           // of the last traced forward
  std::optional<double> predicted_ms;  // made before the rounds
  std::string prediction_note;         // from what, or why there is none
  // Over the turns of the rounds, which were `counted_forwards` forwards: accumulate().
  DeviceCounters counters;
  std::uint64_t counted_forwards = 0;
};

struct ThroughputReport {
  MachineCalibration calibration;
  std::vector<ArmMeasurement> arms;
};

}  // namespace dlo::engine
