// Owns: BlockTiming, where the time of one forward goes block by block: the device's marks around
// each H2D copy, packing of a chunk, gather, block compute and ready wait, the host's time around
// each block, and what follows from them: ForwardTiming and its summary. Must not own: the
// operations (timing_decorators.h and the engine's observer report them), which forwards are timed
// (engine/throughput). Threading: launching thread. Switched off it does nothing at all; switched
// on it allocates nothing: the pool of prepare() holds one forward, what exceeds it is counted and
// left unmarked. Exposed time of a block: from the compute stream's arrival at the wait for its
// weights until the weights were there; two marks with nothing between them show 1-3 us of their
// own on CUDA.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "platform/device.h"
#include "telemetry/timeline.h"

namespace dlo::telemetry {

// Operations of one forward, for the pool.
struct BlockTimingSizes {
  std::uint32_t blocks = 0;        // of the timed ring
  std::uint32_t other_blocks = 0;  // of the model's other rings
  std::uint32_t copies = 0;        // each may have a packing before it, a block's first one two
  std::uint32_t gathers = 0;
};

// Of one block in one forward. Copies and gathers are those issued during the forward: with a
// prefetch depth of d those of the last d blocks serve the next forward.
struct BlockSample {
  double compute_ms = 0;
  double h2d_ms = 0;                 // all chunks, their waits not included
  double gather_ms = 0;              // likewise; from the collective's start on this rank
  std::optional<double> exposed_us;  // none: the block waits for nothing (resident)
  double dispatch_us = 0;            // host time that offloading adds: before_block + after_block
  double launch_us = 0;              // host time of launching the block's compute
};

struct ForwardTiming {
  std::vector<BlockSample> blocks;
  double other_compute_ms = 0;  // on the compute stream outside the blocks
  double child_compute_ms = 0;  // of these: blocks of the model's other rings
  double host_pack_s = 0;       // the pack stream's host functions: mapped blocks into staging
  double comm_kernel_s = 0;
  double gpu_compute_s = 0;  // blocks and the rest
  std::uint64_t h2d_calls = 0;
  std::uint64_t h2d_bytes = 0;
  std::uint64_t unmarked = 0;  // operations beyond the pool, or never reached
  Timeline timeline;           // from the forward's first mark on
};

class BlockTiming {
 public:
  enum class Kind : std::uint8_t { kCompute, kOther, kReadyWait, kH2d, kPack, kGather };
  enum class HostSpan : std::uint8_t { kOffload, kLaunch };
  // The ring whose blocks have samples. Of others copies, packings and gathers count for the whole
  // forward, and computes as compute outside the blocks.
  static constexpr std::int32_t kTimedRing = 0;
  // Index into the pool; none when it is exhausted.
  using Entry = std::optional<std::size_t>;

  // The device whose streams carry the marks; outlives the timing's use. Set by TimingDevice.
  void attach(platform::Device& device) { device_ = &device; }
  // Set-up: makes the pool. Precondition: attached.
  void prepare(const BlockTimingSizes& sizes);

  // What is timed: marks on the streams take host time too, so the two are best taken of two
  // forwards, host first and with nothing queued before it: behind a queued forward the host also
  // waits for room in the launch queue.
  enum class Of : std::uint8_t { kHost, kStreams, kBoth };

  // The next forward is timed; what was noted of the other half stays. Precondition: prepared, off.
  void start(Of of = Of::kBoth);
  void stop() { on_ = false; }
  [[nodiscard]] bool on() const { return on_; }

  [[nodiscard]] Entry open(Kind kind, platform::StreamKind stream, const platform::OpLabel& label,
                           std::uint64_t bytes = 0);
  void close(Entry entry);
  [[nodiscard]] Nanoseconds host_now() const;
  void add_host(HostSpan span, std::int32_t block, Nanoseconds begin);

  // What the streams noted, once they have finished the forward. `rank` goes into the timeline.
  [[nodiscard]] ForwardTiming collect(int rank) const;

 private:
  struct Interval {
    Kind kind = Kind::kCompute;
    platform::StreamKind stream = platform::StreamKind::kCompute;
    platform::OpLabel label;
    std::uint64_t bytes = 0;
    platform::TimeMarkId from;
    platform::TimeMarkId to;
  };
  struct HostTimes {
    Nanoseconds offload_ns = 0;
    Nanoseconds launch_ns = 0;
  };

  void add(const Interval& interval, Nanoseconds length, ForwardTiming& timing) const;

  platform::Device* device_ = nullptr;
  bool on_ = false;
  Of of_ = Of::kBoth;
  platform::TimeMarkId origin_;
  std::vector<Interval> intervals_;
  std::size_t used_ = 0;
  std::uint64_t refused_ = 0;
  std::vector<HostTimes> host_;
};

struct Percentiles {
  double p50 = 0;
  double p99 = 0;
};

// Over all blocks of several forwards; totals are means a forward.
struct BlockTimingSummary {
  std::uint32_t forwards = 0;
  Percentiles compute_ms;
  Percentiles h2d_ms;
  Percentiles gather_ms;
  std::optional<Percentiles> exposed_us;
  Percentiles dispatch_us;
  Percentiles launch_us;
  double other_compute_ms = 0;
  double host_pack_s = 0;
  double comm_kernel_s = 0;
  double gpu_compute_s = 0;
  double h2d_calls = 0;
  double h2d_bytes = 0;
  std::uint64_t unmarked = 0;
};

// Precondition: at least one forward with a block.
[[nodiscard]] BlockTimingSummary summarise(const std::vector<ForwardTiming>& forwards);

}  // namespace dlo::telemetry
