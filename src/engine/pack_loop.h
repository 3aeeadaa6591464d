// Owns: PackLoop, the bare loop that a staged transfer is held against: blocks of ordinary memory
// through two halves of pinned memory, each packed by threads while the other one is copied.
// Must not own: when it runs and with whom (calibration_run.h, rate_watch.h), the staged transfer.
// Threading: launching thread, which waits for its own threads. Failure: codes of the device.
#pragma once

#include <array>
#include <memory>

#include "engine/calibration_bench.h"
#include "platform/cpu/thread_executor.h"

namespace dlo::engine {

class PackLoop {
 public:
  // A source as large as the bench's block, and `thread_count` threads. The bench outlives the
  // loop.
  [[nodiscard]] static Result<std::unique_ptr<PackLoop>> make(CalibrationBench& bench,
                                                              std::size_t thread_count);
  PackLoop(const PackLoop&) = delete;
  PackLoop& operator=(const PackLoop&) = delete;

  // Milliseconds for `blocks` blocks, everything finished.
  [[nodiscard]] Result<double> run_ms(std::size_t blocks);

 private:
  PackLoop(CalibrationBench& bench, std::size_t thread_count);
  // Packs `from` into the half and enqueues its copy to `at` in the block.
  [[nodiscard]] Status part(std::size_t half, ConstByteSpan from, std::uint64_t at);

  CalibrationBench& bench_;
  platform::ThreadExecutor threads_;
  std::array<platform::EventId, 2> copied_;
  std::unique_ptr<platform::HostBuffer> source_;
  std::uint64_t half_bytes_ = 0;
};

}  // namespace dlo::engine
