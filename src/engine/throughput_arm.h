// Owns: ThroughputArm, one way to run a forward that stays ready for its turns: a worker of its
// own, forwards back to back, checks of their bytes, one traced forward.
// Must not own: the order of arms, agreement between ranks (throughput_run.h), statistics.
// How a turn is timed: forwards follow each other without a gap, the next one enqueued before the
// host waits for the last one's end; a sample runs from one end, as the host sees it, to the next.
// The first forward of a turn gives none: the head of its ring was loaded in the gap before it, and
// would make a transfer-bound forward look faster than the link. Nor does the last: nothing is
// enqueued behind it, and where the host binds its end would be seen that much earlier. A turn ends
// with nothing in flight. Threading: launching thread. Failure: as Worker.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "comm/process_groups.h"
#include "config/offload_config.h"
#include "engine/throughput_prediction.h"
#include "engine/throughput_report.h"
#include "engine/worker.h"
#include "platform/posix/steady_clock.h"
#include "telemetry/block_timing.h"

namespace dlo::engine {

class ThroughputArm {
 public:
  // `environment` and `tensors` outlive the arm.
  ThroughputArm(const RunEnvironment& environment, const RunRequest& base,
                const config::OffloadOptions& options, const comm::Topology& topology,
                SharedTensors& tensors);

  // Starts the worker and enqueues the operands.
  [[nodiscard]] Status start(double timestep);

  // One turn of `forwards` timed forwards, one more before and one behind; the samples in
  // milliseconds are appended. The last output is then in output().
  [[nodiscard]] Status turn(std::uint32_t forwards, std::vector<double>& samples_ms);
  // `forwards` consecutive ones, each output compared with `wanted`; adds those that differ.
  [[nodiscard]] Status check(std::uint32_t forwards, ConstByteSpan wanted,
                             std::uint32_t& different_count);
  // Three forwards back to back: of the first the host is timed, whose launch queue is empty then;
  // of the third the streams.
  [[nodiscard]] Status trace(telemetry::ForwardTiming& timing);

  [[nodiscard]] const std::vector<std::byte>& output() const { return output_; }
  [[nodiscard]] WorkerParts parts() { return worker_.parts(); }
  [[nodiscard]] const config::OffloadOptions& options() const { return request_.options; }
  [[nodiscard]] Worker& worker() { return worker_; }
  // Adds what the plan, the books and the last output say of it. Precondition: started.
  void measure(ArmMeasurement& measured);
  // What a prediction knows of it, and its main ring's blocks, padded. Precondition: started.
  [[nodiscard]] ArmToPredict to_predict();
  [[nodiscard]] std::vector<std::uint64_t> block_bytes();
  // Threads that pack its blocks; 0 when nothing is staged. Precondition: started.
  [[nodiscard]] std::uint32_t pack_threads();

 private:
  using OnEnd = std::function<void(std::uint32_t forward)>;

  // What one forward moves over every ring that it walks.
  [[nodiscard]] backend::Traffic traffic_of_forward();
  // Enqueues and awaits `count` forwards, one ahead; `enqueue` puts in whatever belongs to one,
  // `on_end` is told of each end in order.
  void run_forwards(std::uint32_t count, const OnEnd& enqueue, const OnEnd& on_end);
  void await(std::uint32_t forward);
  void finish();

  RunRequest request_;
  config::OffloadConfig config_;
  Nanoseconds timeout_;
  int rank_;
  std::uint32_t replica_;  // whose request the forwards serve
  platform::SteadyClock clock_;
  telemetry::BlockTiming timing_;
  Worker worker_;
  platform::EventId ends_[2];
  std::vector<std::byte> output_;
};

[[nodiscard]] std::uint32_t most_pack_threads(
    const std::vector<std::unique_ptr<ThroughputArm>>& arms);

}  // namespace dlo::engine
