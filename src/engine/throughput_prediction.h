// Owns: the prediction of an arm's forward from what this run has measured before its rounds: the
// machine's calibration, and one traced forward of the baseline.
// Must not own: the simulator (engine/simulation/prediction.h). Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "contracts/effective_transfer.h"
#include "engine/simulation/calibration.h"
#include "engine/throughput_report.h"

namespace dlo::engine {

// The machine as the simulator wants it for an arm of `effective`. `ranks` copy at once;
// `launch_us` is the host's time of launching one block's compute. Every figure is this run's own.
// A staged arm's link is packing and copying at once, by the threads of the arm that has the most.
[[nodiscard]] Calibration calibration_of_run(const MachineCalibration& machine, std::uint32_t ranks,
                                             const contracts::EffectiveTransfer& effective,
                                             double launch_us);

struct ArmToPredict {
  contracts::EffectiveTransfer effective;
  std::uint32_t input_slots = 2;
  std::uint64_t stage_resident_bytes = 0;  // of leading blocks, which no prediction knows
  // Blocks of child rings that are streamed, padded, in the order in which they are walked before
  // the model's own ring. Each takes an equal share of ForwardTiming::child_compute_ms.
  std::vector<std::uint64_t> child_block_bytes = {};
};

// Forward of the slowest rank, milliseconds, from end to end. `baseline` is a traced resident
// forward, `block_bytes` by block. Codes: not_in_this_product for leading blocks that stay on the
// device; those of predict().
[[nodiscard]] Result<double> predict_forward_ms(const Calibration& calibration, std::uint32_t ranks,
                                                const ArmToPredict& arm,
                                                const telemetry::ForwardTiming& baseline,
                                                const std::vector<std::uint64_t>& block_bytes);

}  // namespace dlo::engine
