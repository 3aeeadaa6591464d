// Owns: measuring the machine in the process that is measured, before any number: pinned H2D of one
// rank alone and of all ranks at once, packing beside the copy of what was packed, AllGather over
// the weight communicator, compute alone and beside a copy and a gather, and the host's time for an
// event, a copy and a gather.
// Must not own: predictions, limits (throughput_prediction.h, harness). Collective over the ranks
// of `seams.control`, all with equal sizes. Every figure: median of repeats after warm-up; losses
// by telemetry/paired_comparison.h.
// Threading: launching thread, nothing else in flight. Failure: codes of device and exchange.
#pragma once

#include "engine/calibration_bench.h"
#include "engine/pack_loop.h"
#include "engine/throughput_report.h"

namespace dlo::engine {

struct CalibrationRequest {
  std::uint64_t block_bytes = 0;  // largest streamed block, padded
  std::uint64_t piece_bytes = 0;  // its part of one rank; block_bytes without a communicator
  std::int64_t gemm_size = 0;     // 0: 8192 on an accelerator, 256 elsewhere
  DType gemm_dtype = DType::kBF16;
  std::uint32_t pack_threads = 0;  // of staged transfers; 0 on all ranks: no packing is measured
};

// Rates over all ranks are those of the slowest, median and best sample alike;
// h2d_alone_bytes_per_s is rank 0's, known to all, and that of one rank "together" too.
[[nodiscard]] Result<MachineCalibration> calibrate(const CalibrationSeams& seams,
                                                   const CalibrationRequest& request);

// One row of block copies, or of packing and copying, on all ranks at once: bytes/s of the slowest
// rank, known to all.
[[nodiscard]] Result<double> link_rate(CalibrationBench& bench);
[[nodiscard]] Result<double> pack_rate(CalibrationBench& bench, PackLoop& loop);

// The GEMM figures alone: see throughput_report.h. `longest_ms` is what one copy or gather takes:
// a series of products lasts twice that, so that it meets all of it.
[[nodiscard]] Status calibrate_compute(CalibrationBench& bench, double longest_ms, DType gemm_dtype,
                                       MachineCalibration& calibration);

}  // namespace dlo::engine
