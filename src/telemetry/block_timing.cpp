#include "telemetry/block_timing.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "platform/clock.h"
#include "telemetry/paired_comparison.h"

namespace dlo::telemetry {

using platform::OpLabel;
using platform::StreamKind;

namespace {

// Embeddings and output of a forward; a few more cost nothing.
constexpr std::size_t kOtherComputes = 8;

double in_ms(Nanoseconds time) {
  return static_cast<double>(time) / static_cast<double>(kMillisecond);
}
double in_us(Nanoseconds time) {
  return static_cast<double>(time) / static_cast<double>(kMicrosecond);
}
double in_s(Nanoseconds time) {
  return static_cast<double>(time) / static_cast<double>(kSecond);
}

}  // namespace

void BlockTiming::prepare(const BlockTimingSizes& sizes) {
  require(device_ != nullptr && !on_, "block timing is prepared once its device is known");
  // Compute, ready wait and begin of the packing of each block, packing and copy of each chunk.
  const std::size_t count = std::size_t{3} * sizes.blocks + std::size_t{2} * sizes.other_blocks +
                            std::size_t{2} * sizes.copies + sizes.gathers + kOtherComputes;
  origin_ = device_->create_time_mark();
  intervals_.resize(count);
  for (auto& interval : intervals_) {
    interval.from = device_->create_time_mark();
    interval.to = device_->create_time_mark();
  }
  host_.resize(sizes.blocks);
}

void BlockTiming::start(Of of) {
  require(!intervals_.empty() && !on_, "block timing is switched on once, after prepare()");
  of_ = of;
  if (of != Of::kStreams) {
    std::fill(host_.begin(), host_.end(), HostTimes{});
  }
  if (of != Of::kHost) {
    used_ = 0;
    refused_ = 0;
    device_->mark_time(origin_, StreamKind::kCompute);
  }
  on_ = true;
}

BlockTiming::Entry BlockTiming::open(Kind kind, StreamKind stream, const OpLabel& label,
                                     std::uint64_t bytes) {
  if (of_ == Of::kHost) {
    return std::nullopt;
  }
  if (used_ == intervals_.size()) {
    ++refused_;
    return std::nullopt;
  }
  auto& interval = intervals_[used_];
  interval.kind = kind;
  interval.stream = stream;
  interval.label = label;
  interval.bytes = bytes;
  device_->mark_time(interval.from, stream);
  return used_++;
}

void BlockTiming::close(Entry entry) {
  if (entry) {
    device_->mark_time(intervals_[*entry].to, intervals_[*entry].stream);
  }
}

Nanoseconds BlockTiming::host_now() const {
  return device_->clock().now();
}

void BlockTiming::add_host(HostSpan span, std::int32_t block, Nanoseconds begin) {
  if (of_ == Of::kStreams || block < 0 || static_cast<std::size_t>(block) >= host_.size()) {
    return;
  }
  auto& times = host_[static_cast<std::size_t>(block)];
  (span == HostSpan::kLaunch ? times.launch_ns : times.offload_ns) += host_now() - begin;
}

void BlockTiming::add(const Interval& interval, Nanoseconds length, ForwardTiming& timing) const {
  const auto block = static_cast<std::size_t>(interval.label.block);
  const bool of_block = interval.label.ring == kTimedRing && interval.label.block >= 0 &&
                        block < timing.blocks.size();
  BlockSample unused;
  auto& sample = of_block ? timing.blocks[block] : unused;
  switch (interval.kind) {
    case Kind::kCompute:
      sample.compute_ms += in_ms(length);
      timing.gpu_compute_s += in_s(length);
      break;
    case Kind::kOther:
      timing.other_compute_ms += in_ms(length);
      timing.child_compute_ms +=
          interval.label.site == platform::Site::kCompute ? in_ms(length) : 0;
      timing.gpu_compute_s += in_s(length);
      break;
    case Kind::kReadyWait:
      sample.exposed_us = sample.exposed_us.value_or(0) + in_us(length);
      break;
    case Kind::kH2d:
      sample.h2d_ms += in_ms(length);
      ++timing.h2d_calls;
      timing.h2d_bytes += interval.bytes;
      break;
    case Kind::kPack:
      timing.host_pack_s += in_s(length);
      break;
    case Kind::kGather:
      sample.gather_ms += in_ms(length);
      timing.comm_kernel_s += in_s(length);
      break;
  }
}

ForwardTiming BlockTiming::collect(int rank) const {
  ForwardTiming timing;
  timing.unmarked = refused_;
  timing.blocks.resize(host_.size());
  for (std::size_t i = 0; i < host_.size(); ++i) {
    timing.blocks[i].dispatch_us = in_us(host_[i].offload_ns);
    timing.blocks[i].launch_us = in_us(host_[i].launch_ns);
  }
  for (std::size_t i = 0; i < used_; ++i) {
    const auto& interval = intervals_[i];
    const auto begin = device_->elapsed(origin_, interval.from);
    const auto length = device_->elapsed(interval.from, interval.to);
    if (!begin || !length) {
      ++timing.unmarked;
      continue;
    }
    add(interval, *length, timing);
    timing.timeline.rows.push_back({*begin, *begin + *length, rank,
                                    std::string(platform::stream_name(interval.stream)),
                                    platform::label_text(interval.label)});
  }
  return timing;
}

BlockTimingSummary summarise(const std::vector<ForwardTiming>& forwards) {
  std::vector<const BlockSample*> samples;
  BlockTimingSummary summary;
  summary.forwards = static_cast<std::uint32_t>(forwards.size());
  const auto count = static_cast<double>(forwards.size());
  for (const auto& forward : forwards) {
    for (const auto& block : forward.blocks) {
      samples.push_back(&block);
    }
    summary.other_compute_ms += forward.other_compute_ms / count;
    summary.host_pack_s += forward.host_pack_s / count;
    summary.comm_kernel_s += forward.comm_kernel_s / count;
    summary.gpu_compute_s += forward.gpu_compute_s / count;
    summary.h2d_calls += static_cast<double>(forward.h2d_calls) / count;
    summary.h2d_bytes += static_cast<double>(forward.h2d_bytes) / count;
    summary.unmarked += forward.unmarked;
  }
  require(!samples.empty(), "a summary of no blocks");
  const auto spread = [&samples](double BlockSample::*field) {
    std::vector<double> values;
    for (const auto* sample : samples) {
      values.push_back(sample->*field);
    }
    return Percentiles{percentile_of(values, 50), percentile_of(values, 99)};
  };
  summary.compute_ms = spread(&BlockSample::compute_ms);
  summary.h2d_ms = spread(&BlockSample::h2d_ms);
  summary.gather_ms = spread(&BlockSample::gather_ms);
  summary.dispatch_us = spread(&BlockSample::dispatch_us);
  summary.launch_us = spread(&BlockSample::launch_us);
  std::vector<double> exposed;
  for (const auto* sample : samples) {
    if (sample->exposed_us) {
      exposed.push_back(*sample->exposed_us);
    }
  }
  if (!exposed.empty()) {
    summary.exposed_us = Percentiles{percentile_of(exposed, 50), percentile_of(exposed, 99)};
  }
  return summary;
}

}  // namespace dlo::telemetry
