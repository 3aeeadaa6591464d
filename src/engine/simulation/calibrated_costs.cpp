#include "engine/simulation/calibrated_costs.h"

#include <cmath>
#include <utility>

#include "base/error.h"

namespace dlo::engine {

using platform::Site;
using platform::sim::OpFacts;
using platform::sim::OpKind;

namespace {

constexpr double kNanosecondsPerSecond = 1e9;

Nanoseconds whole(double nanoseconds) {
  return static_cast<Nanoseconds>(std::llround(nanoseconds));
}

Nanoseconds transfer_time(const Figure& latency_ns, const Figure& bytes_per_s,
                          std::uint64_t bytes) {
  require(bytes_per_s.value > 0.0, "an operation of a kind that the topology does not have");
  return whole(latency_ns.value +
               static_cast<double>(bytes) / bytes_per_s.value * kNanosecondsPerSecond);
}

}  // namespace

CalibratedCosts::CalibratedCosts(const Calibration& calibration, const CostRates& rates,
                                 std::vector<CostedBlock> blocks, Nanoseconds other_compute_ns)
    : calibration_(calibration),
      rates_(rates),
      blocks_(std::move(blocks)),
      other_compute_ns_(other_compute_ns) {}

Nanoseconds CalibratedCosts::copy_time(std::uint64_t bytes) const {
  return transfer_time(calibration_.h2d.latency_ns, rates_.h2d_bytes_per_s, bytes);
}

Nanoseconds CalibratedCosts::gather_time(std::uint64_t bytes) const {
  return transfer_time(calibration_.gather.latency_ns, rates_.gather_bytes_per_s, bytes);
}

Nanoseconds CalibratedCosts::h2d_ns(std::size_t block) const {
  Nanoseconds total = 0;
  for (const auto& chunk : blocks_.at(block).shard.chunks()) {
    total += copy_time(chunk.piece_bytes);
  }
  return total;
}

Nanoseconds CalibratedCosts::gather_ns(std::size_t block) const {
  const auto& shard = blocks_.at(block).shard;
  Nanoseconds total = 0;
  for (const auto& chunk : shard.chunks()) {
    total += shard.group_size() > 1 ? gather_time(chunk.piece_bytes * shard.group_size()) : 0;
  }
  return total;
}

Nanoseconds CalibratedCosts::start_delay(const OpFacts& /*op*/, SeededRandom& /*random*/) const {
  return 0;
}

Nanoseconds CalibratedCosts::duration(const OpFacts& op, SeededRandom& /*random*/) const {
  const bool moves = op.label.site == Site::kH2d || op.label.site == Site::kGather;
  if (moves) {
    const auto& shard = blocks_.at(static_cast<std::size_t>(op.label.block)).shard;
    // A rank-local copy is one whole block and names no chunk.
    const auto chunk = static_cast<std::size_t>(op.label.chunk < 0 ? 0 : op.label.chunk);
    const auto piece_bytes = shard.chunks().at(chunk).piece_bytes;
    return op.label.site == Site::kH2d ? copy_time(piece_bytes)
                                       : gather_time(piece_bytes * shard.group_size());
  }
  switch (op.label.site) {
    case Site::kCompute:
      return op.kind == OpKind::kTask
                 ? blocks_.at(static_cast<std::size_t>(op.label.block)).compute_ns
                 : 0;
    case Site::kModel:
      return op.kind == OpKind::kTask ? other_compute_ns_ : 0;
    default:
      return 0;  // events; copies of enable()
  }
}

Nanoseconds CalibratedCosts::lost(const OpFacts& op, const platform::sim::RanBeside& beside) const {
  if (op.kind != OpKind::kTask) {
    return 0;
  }
  const auto& compute = calibration_.compute;
  return static_cast<Nanoseconds>(
      compute.lost_beside_copy.value * static_cast<double>(beside.copies) +
      compute.lost_beside_gather.value * static_cast<double>(beside.gathers));
}

Nanoseconds CalibratedCosts::host_cost(const OpFacts& op) const {
  const auto& host = calibration_.host;
  switch (op.kind) {
    case OpKind::kRecord:
    case OpKind::kWait:
      return whole(host.event_ns.value);
    case OpKind::kCopy:
      return whole(host.copy_ns.value);
    case OpKind::kCollective:
      return whole(host.gather_ns.value);
    case OpKind::kTask:
      return op.label.site == Site::kCompute ? whole(host.block_ns.value) : 0;
  }
  return 0;
}

std::uint64_t miniature_chunk_bytes(std::uint64_t chunk_bytes) {
  return chunk_bytes == 0 ? 0 : kTensorAlignmentBytes;
}

synthetic::SyntheticShape miniature_shape(const std::vector<CostedBlock>& blocks) {
  synthetic::SyntheticShape shape;
  auto& ring = shape.rings.emplace_back();
  for (const auto& block : blocks) {
    const std::uint64_t bytes =
        block.shard.chunks().size() * block.shard.group_size() * kTensorAlignmentBytes;
    ring.blocks.push_back({{DType::kU8, {static_cast<std::int64_t>(bytes)}, {}}});
  }
  return shape;
}

}  // namespace dlo::engine
