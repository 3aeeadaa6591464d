// Owns: BlockLimits, what the calibration of the same run says that a block of an arm takes at
// least: its H2D and its gather at the best rate seen, the host's calls of the driver when nothing
// else is between them. Must not own: measuring (engine/calibration_run.h), metrics
// (throughput_metrics.h). Pure functions; a figure that was not calibrated has no limit.
#pragma once

#include <optional>

#include "engine/throughput_report.h"

namespace dlo::harness {

// Of a streamed block of the mean size; none for a resident arm.
struct BlockLimits {
  std::optional<double> h2d_ms;
  std::optional<double> gather_ms;    // AllGather alone
  std::optional<double> dispatch_us;  // not of staged transfers, whose packing is host work too
};

[[nodiscard]] BlockLimits block_limits(const engine::ArmMeasurement& rank,
                                       const engine::MachineCalibration& calibration);

}  // namespace dlo::harness
