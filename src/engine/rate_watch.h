// Owns: RateWatch, which measures again and again what the link gives at that moment, and packing
// beside it: a host that others use is not always equally fast, and a forward is to be held against
// the rates of its own round.
// Must not own: the calibration before the rounds (calibration_run.h), what is made of the rates
// (harness). Collective over the ranks of `seams.control`. Threading: launching thread, nothing
// else in flight. Failure: codes of device and exchange.
#pragma once

#include <memory>

#include "engine/calibration_bench.h"
#include "engine/pack_loop.h"
#include "engine/throughput_report.h"

namespace dlo::engine {

class RateWatch {
 public:
  // Adds one rate to calibration.link_bytes_per_s, and where blocks are staged one to
  // calibration.pack_copy_bytes_per_s: bytes/s of the slowest rank, all at once, best of three
  // rows. The first call makes `watch`, with buffers of one block. Precondition: calibrated.
  [[nodiscard]] static Status sample(const CalibrationSeams& seams,
                                     std::unique_ptr<RateWatch>& watch,
                                     MachineCalibration& calibration);

 private:
  [[nodiscard]] static Result<std::unique_ptr<RateWatch>> make(
      const CalibrationSeams& seams, const MachineCalibration& calibration);
  [[nodiscard]] Status add_rates(MachineCalibration& calibration);

  std::unique_ptr<CalibrationBench> bench_;
  std::unique_ptr<PackLoop> loop_;  // none: nothing is staged
};

}  // namespace dlo::engine
