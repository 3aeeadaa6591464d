#include "engine/simulation/prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/codes.h"
#include "base/error.h"
#include "engine/simulation/calibrated_costs.h"
#include "engine/simulation/predicted_rank.h"
#include "engine/simulation/wave_shares.h"
#include "telemetry/paired_comparison.h"

namespace dlo::engine {

using contracts::Transfer;
using platform::Site;
using platform::StreamKind;
using platform::sim::SimTraceRow;

namespace {

constexpr std::uint32_t kWarmUpForwards = 2;
constexpr std::uint32_t kRanksMax = 64;
constexpr std::uint32_t kForwardsMax = 100;
constexpr std::size_t kBlocksMax = 1000;
// Chunks moved in one simulation; above it a request is a slip rather than a question.
constexpr std::uint64_t kChunksMax = 200'000;

// What the request comes to.
struct Topology {
  std::uint32_t group_size = 1;  // ranks simulated: the others do the same
  std::uint64_t chunk_bytes = 0;
};

Topology topology_of(const PredictRequest& request) {
  if (request.transfer != Transfer::kAllGather) {
    return {};
  }
  const auto group = request.group_size == 0 ? request.ranks : request.group_size;
  return {group, group > 1 ? request.chunk_bytes : 0};
}

Status check(const PredictRequest& request) {
  const auto wrong = [](std::string what, std::string action) {
    return Status(refuse(codes::kInvalidValue, std::move(what), "prediction", std::move(action)));
  };
  if (request.ranks == 0 || request.ranks > kRanksMax) {
    return wrong(fmt::format("{} ranks", request.ranks), "give 1 to 64 ranks");
  }
  const auto group = topology_of(request).group_size;
  if (request.ranks % group != 0) {
    return wrong(fmt::format("{} ranks in groups of {}", request.ranks, group),
                 "give a group size that divides the ranks");
  }
  if (request.blocks.empty() || request.blocks.size() > kBlocksMax) {
    return wrong(fmt::format("{} blocks", request.blocks.size()), "give 1 to 1000 blocks");
  }
  for (const auto& block : request.blocks) {
    if (block.bytes == 0 || block.compute_ns < 0) {
      return wrong("a block without bytes or of negative compute time", "give both");
    }
  }
  if (request.prefetch_depth == 0 || request.prefetch_depth > 4 || request.input_slots == 0) {
    return wrong(fmt::format("prefetch depth {}, {} input slots", request.prefetch_depth,
                             request.input_slots),
                 "give a depth of 1 to 4 and at least one input slot");
  }
  if (request.chunk_bytes % kTensorAlignmentBytes != 0) {
    return wrong(fmt::format("chunks of {} bytes", request.chunk_bytes),
                 "give a multiple of 256, or 0 for whole blocks");
  }
  if (request.forwards == 0 || request.forwards > kForwardsMax || request.other_compute_ns < 0) {
    return wrong(fmt::format("{} forwards", request.forwards), "give 1 to 100 forwards");
  }
  return {};
}

Result<CostRates> rates_of(const PredictRequest& request, const Topology& topology) {
  CostRates rates;
  if (request.transfer == Transfer::kResident) {
    return rates;
  }
  auto h2d = request.calibration.h2d_rate(request.ranks);
  if (!h2d.ok()) {
    return h2d.refusal();
  }
  rates.h2d_bytes_per_s = *h2d;
  if (topology.group_size > 1) {
    auto gather = request.calibration.gather_rate(topology.group_size);
    if (!gather.ok()) {
      return gather.refusal();
    }
    rates.gather_bytes_per_s = *gather;
  }
  return rates;
}

Result<std::vector<CostedBlock>> costed_blocks(const PredictRequest& request,
                                               const Topology& topology) {
  std::uint64_t chunks = 0;
  std::vector<CostedBlock> blocks;
  for (const auto& block : request.blocks) {
    const auto chunk_bytes = std::max<std::uint64_t>(topology.chunk_bytes, 1);
    chunks +=
        topology.chunk_bytes == 0 ? 1 : ceil_divide(block.bytes, chunk_bytes * topology.group_size);
    if (chunks * (request.forwards + kWarmUpForwards) * topology.group_size > kChunksMax) {
      return refuse(codes::kInvalidValue, "more than 200,000 chunks to simulate", "prediction",
                    "give larger chunks, or fewer forwards");
    }
    blocks.push_back(
        {contracts::ShardLayout(block.bytes, topology.group_size, topology.chunk_bytes),
         block.compute_ns});
  }
  return blocks;
}

PredictedCase case_of(const PredictRequest& request, const Topology& topology,
                      const CalibratedCosts& costs) {
  PredictedCase predicted;
  predicted.config.strategy = request.transfer == Transfer::kResident
                                  ? config::OffloadStrategy::kNone
                                  : config::OffloadStrategy::kDistributedLayerwise;
  predicted.config.dlo_use_allgather = topology.group_size > 1;
  predicted.config.dp_size = topology.group_size;
  predicted.config.prefetch_depth = request.prefetch_depth;
  predicted.config.chunk_bytes = miniature_chunk_bytes(topology.chunk_bytes);
  predicted.config.input_slots = request.input_slots;
  predicted.shape = miniature_shape(costs.blocks());
  predicted.forwards = kWarmUpForwards + request.forwards;
  return predicted;
}

// What a run of all ranks leaves behind.
struct Recording {
  std::vector<PredictedTimes> times;  // by rank
  std::vector<SimTraceRow> trace;     // of rank 0
};

Recording record(const PredictedCase& predicted, const CalibratedCosts& costs) {
  const int rank_count = static_cast<int>(predicted.config.dp_size);
  platform::sim::SimKernel kernel(
      {.seed = 1, .rank_count = rank_count, .yield_percent = 0, .ranks_first = true});
  comm::SimFabric fabric(kernel, rank_count);
  Recording recording;
  recording.times.resize(predicted.config.dp_size);
  const auto outcome = kernel.run([&](int rank) {
    auto* trace = rank == 0 ? &recording.trace : nullptr;
    recording.times[static_cast<std::size_t>(rank)] =
        PredictedRank(kernel, fabric, predicted, costs, trace, rank).run();
  });
  if (!outcome.violation.empty()) {
    throw LogicError("the simulated run of a prediction failed: " + outcome.violation);
  }
  return recording;
}

Nanoseconds percentile(const std::vector<double>& samples_ns, double percent) {
  return static_cast<Nanoseconds>(telemetry::percentile_of(samples_ns, percent));
}

void time_blocks(const Recording& recording, std::size_t block_count, PredictResult& result) {
  std::vector<double> periods;
  std::vector<double> gaps;
  Nanoseconds last_end = 0;      // of the previous block
  Nanoseconds last_compute = 0;  // of anything on the compute stream
  std::size_t seen = 0;
  for (const auto& row : recording.trace) {
    const bool block = row.label.site == Site::kCompute;
    if (row.stream != StreamKind::kCompute || (!block && row.label.site != Site::kModel)) {
      continue;
    }
    if (block && ++seen > kWarmUpForwards * block_count) {
      periods.push_back(static_cast<double>(row.end - last_end));
      gaps.push_back(static_cast<double>(row.begin - last_compute));
    }
    last_end = block ? row.end : last_end;
    last_compute = row.end;
  }
  result.block_p50_ns = percentile(periods, 50);
  result.block_p99_ns = percentile(periods, 99);
  result.exposed_p50_ns = percentile(gaps, 50);
  result.exposed_p99_ns = percentile(gaps, 99);
}

Nanoseconds& at(std::array<Nanoseconds, kResourceCount>& by_resource, Resource resource) {
  return by_resource.at(static_cast<std::size_t>(resource));
}

void share_wave(const Recording& recording, std::uint32_t forwards, PredictResult& result) {
  const auto& rank = recording.times.front();
  const Window window{rank.end[kWarmUpForwards - 1], rank.end.back()};
  const auto mean = [forwards](Nanoseconds total) { return total / Nanoseconds{forwards}; };
  const auto busy = [&](StreamKind stream) {
    return mean(busy_time(recording.trace, stream, window));
  };
  at(result.busy_ns, Resource::kCompute) = busy(StreamKind::kCompute);
  at(result.busy_ns, Resource::kH2d) = busy(StreamKind::kCopy);
  at(result.busy_ns, Resource::kGather) = busy(StreamKind::kComm);
  Nanoseconds host = 0;
  for (std::size_t f = kWarmUpForwards; f < rank.host_ns.size(); ++f) {
    host += rank.host_ns[f];
  }
  at(result.busy_ns, Resource::kHost) = mean(host);
  const auto busiest = std::max_element(result.busy_ns.begin(), result.busy_ns.end());
  result.bound = static_cast<Resource>(busiest - result.busy_ns.begin());

  const bool link_first =
      at(result.busy_ns, Resource::kH2d) >= at(result.busy_ns, Resource::kGather);
  const auto cut =
      cut_wave(recording.trace, link_first ? StreamKind::kCopy : StreamKind::kComm, window);
  at(result.spent_ns, Resource::kCompute) = mean(cut.compute);
  at(result.spent_ns, Resource::kH2d) = mean(cut.copy);
  at(result.spent_ns, Resource::kGather) = mean(cut.comm);
  at(result.spent_ns, Resource::kHost) = mean(cut.nothing);
  result.window_ns =
      std::accumulate(result.spent_ns.begin(), result.spent_ns.end(), Nanoseconds{0});
}

// What compute takes longer than alone.
Nanoseconds lost_time(const PredictRequest& request, const PredictResult& result) {
  Nanoseconds alone = request.other_compute_ns;
  for (const auto& block : request.blocks) {
    alone += block.compute_ns;
  }
  return result.busy_ns.at(static_cast<std::size_t>(Resource::kCompute)) - alone;
}

void time_waves(const Recording& recording, std::uint32_t forwards, PredictResult& result) {
  const auto latest = [&](std::size_t forward) {
    Nanoseconds end = 0;
    for (const auto& times : recording.times) {
      end = std::max(end, times.end[forward]);
    }
    return end;
  };
  const Nanoseconds span = latest(kWarmUpForwards + forwards - 1) - latest(kWarmUpForwards - 1);
  result.wave_ns = span / Nanoseconds{forwards};
  result.first_wave_ns = latest(0);
}

}  // namespace

std::string_view resource_name(Resource resource) {
  constexpr std::array<std::string_view, kResourceCount> kNames = {"compute", "h2d", "gather",
                                                                   "host_dispatch"};
  return kNames.at(static_cast<std::size_t>(resource));
}

Nanoseconds PredictResult::exposed_ns() const {
  return window_ns - spent_ns.at(static_cast<std::size_t>(Resource::kCompute));
}

double PredictResult::busy_share(Resource resource) const {
  return static_cast<double>(busy_ns.at(static_cast<std::size_t>(resource))) /
         static_cast<double>(std::max<Nanoseconds>(window_ns, 1));
}

double PredictResult::spent_share(Resource resource) const {
  return static_cast<double>(spent_ns.at(static_cast<std::size_t>(resource))) /
         static_cast<double>(std::max<Nanoseconds>(window_ns, 1));
}

Result<PredictResult> predict(const PredictRequest& request) {
  if (auto status = check(request); !status.ok()) {
    return status.refusal();
  }
  const Topology topology = topology_of(request);
  const auto rates = rates_of(request, topology);
  if (!rates.ok()) {
    return rates.refusal();
  }
  auto blocks = costed_blocks(request, topology);
  if (!blocks.ok()) {
    return blocks.refusal();
  }
  const CalibratedCosts costs(request.calibration, *rates, std::move(blocks).value(),
                              request.other_compute_ns);
  const auto recording = record(case_of(request, topology, costs), costs);
  PredictResult result;
  time_waves(recording, request.forwards, result);
  time_blocks(recording, request.blocks.size(), result);
  share_wave(recording, request.forwards, result);
  result.lost_ns = lost_time(request, result);
  for (const auto& block : costs.blocks()) {
    result.chunks_per_block =
        std::max(result.chunks_per_block, static_cast<std::uint32_t>(block.shard.chunks().size()));
  }
  if (request.transfer != Transfer::kResident) {
    result.rates.push_back(rates->h2d_bytes_per_s);
  }
  if (topology.group_size > 1) {
    result.rates.push_back(rates->gather_bytes_per_s);
  }
  return result;
}

}  // namespace dlo::engine
