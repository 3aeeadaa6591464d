#include "harness/throughput_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "harness/block_limits.h"

namespace dlo::harness {
namespace {

using engine::ArmMeasurement;

constexpr double kPercent = 100;

constexpr std::array kArmDefinitions{
    MetricDefinition{
        "forward_ms", "forward", "ms",
        "Time of one forward without guidance in steady state, median over all rounds: from the "
        "end of one forward, as the host sees it, to the end of the next, enqueued without a gap; "
        "of the slowest rank for each forward. The limit is the longer of what the link needs and "
        "what the baseline takes."},
    MetricDefinition{"forward_p99_ms", "forward, p99", "ms", "The same, 99th percentile."},
    MetricDefinition{
        "slowdown_percent", "slowdown", "%",
        "Hodges-Lehmann estimate of the difference to the first arm over paired rounds, as a share "
        "of the first arm's time. The limit is what a series of matrix products of this run loses "
        "beside one block's copy (and gather), for every streamed block, and 0.2 % of noise."},
    MetricDefinition{"slowdown_low_percent", "slowdown, low", "%",
                     "Lower end of its 95 % interval (Wilcoxon signed-rank, exact)."},
    MetricDefinition{"slowdown_high_percent", "slowdown, high", "%", "Upper end of it."},
    MetricDefinition{
        "link_share_percent", "of the link", "%",
        "Time that the link alone needs, divided by the time of a forward, median over the "
        "forwards. Rank-local: streamed bytes over the H2D rate of all ranks at once; AllGather: "
        "the longer of the shard's H2D and the gathers of all blocks. The H2D rate of a round is "
        "the better one of bare copies before and behind it, the gather's the best sample of the "
        "calibration, each on the slowest rank. More than 101 % is a finding: a limit that is "
        "beaten is none."},
    MetricDefinition{"compute_p50_ms", "block compute", "ms",
                     "Device time of a block's compute, median over blocks and traced forwards, "
                     "slowest rank. The limit is the baseline's."},
    MetricDefinition{"h2d_p50_ms", "block H2D", "ms",
                     "Device time of a block's copies, likewise. The limit is a block of the mean "
                     "size at the best H2D rate of all ranks at once."},
    MetricDefinition{
        "gather_p50_ms", "block gather", "ms",
        "Device time of a block's gathers, likewise; waiting for peers is part of it. The limit is "
        "such a block at the best AllGather rate."},
    MetricDefinition{"exposed_p50_us", "exposed, p50", "us",
                     "Time that the compute stream waits for a block's weights, likewise. Two time "
                     "marks with nothing between them show 1 to 3 us on CUDA."},
    MetricDefinition{"exposed_p99_us", "exposed, p99", "us", "The same, 99th percentile."},
    MetricDefinition{"dispatch_p50_us", "host time added", "us",
                     "Host time that offloading adds to a block: before_block and after_block, "
                     "median, slowest rank. The limit is what the calls take with nothing between "
                     "them: events, copies and gathers of a block at the calibration's event_ns, "
                     "copy_ns and gather_ns. Between the launches of a block's compute they find "
                     "the processor's caches full of other things."},
    MetricDefinition{"dispatch_p99_us", "host time added, p99", "us", "The same, 99th percentile."},
    MetricDefinition{"launch_p50_us", "host launch", "us",
                     "Host time of launching a block's compute, likewise."},
    MetricDefinition{"host_pack_s", "host pack", "s",
                     "Time that host functions of the pack stream run in a forward: each has a "
                     "staging chunk begun from mapped files and helps until the one before is "
                     "full. Between them the packing threads go on. 0 where nothing is staged."},
    MetricDefinition{
        "pack_copy_share_percent", "share of pack and copy", "%",
        "Time that a bare loop of packing and copying needs for the bytes of a forward "
        "at the better rate of those before and behind its round, over the forward, "
        "median over the forwards: of a staged arm whose compute is hidden."},
    MetricDefinition{"comm_kernel_s", "gathers", "s", "Device time of all gathers of a forward."},
    MetricDefinition{"gpu_compute_s", "compute", "s", "Device time of all compute of a forward."},
    MetricDefinition{"h2d_calls_per_forward", "H2D copies a forward", "calls",
                     "Copies of block weights that a rank issues in a traced forward."},
    MetricDefinition{
        "h2d_forward_bytes", "H2D bytes a forward", "bytes",
        "Bytes of them. The limit is the plan's: one load of each block of every ring."},
    MetricDefinition{"device_weight_bytes", "device weight bytes", "bytes",
                     "Weight bytes in device memory, largest rank, from the platform's books. The "
                     "limit is what invariant I4 allows."},
    MetricDefinition{"pinned_per_weight", "pinned per weight byte", "ratio",
                     "Page-locked bytes of a rank times the ranks that share one copy, divided by "
                     "the unpadded bytes of the blocks."},
    MetricDefinition{"hbm_peak_bytes", "HBM peak", "bytes",
                     "Weight bytes on the device and the peak of torch's allocator, largest rank."},
    MetricDefinition{"hbm_used_bytes", "HBM in use", "bytes",
                     "Memory of the GPU in use by every process, as NVML tells it behind a turn of "
                     "the arm, largest turn and rank. All arms of the run, CUDA's contexts and "
                     "other processes are part of it, what the driver reserves is not."},
    MetricDefinition{"nvlink_bytes_per_forward", "NVLink bytes a forward", "bytes",
                     "Received by the GPU as NVML counts it over the turns of all rounds, divided "
                     "by their forwards, untimed ones too; left out when one reading is missing. "
                     "The limit is the copy ledger's."},
    MetricDefinition{"power_w", "power", "W",
                     "Energy that the GPU took over the turns of all rounds, as NVML counts it, by "
                     "their time; the rank that takes most. NVML's count goes up in steps, so "
                     "turns of less than a second are told roughly. The limit is the one that the "
                     "driver enforces."},
    MetricDefinition{"predicted_forward_ms", "predicted", "ms",
                     "Forward as the simulator predicts it before the rounds, from this run's "
                     "calibration and one traced forward of the baseline."},
    MetricDefinition{"prediction_ratio", "predicted / measured", "ratio",
                     "The prediction divided by forward_ms."},
    MetricDefinition{"compared_forwards", "compared forwards", "forwards",
                     "Forwards whose output bytes were compared with the baseline's, all ranks."},
};

constexpr std::array kRunDefinitions{
    MetricDefinition{"noise_floor_percent", "noise floor", "%",
                     "Farther end of the interval of the baseline measured as two arms: smaller "
                     "differences mean nothing."},
    MetricDefinition{"h2d_alone_bytes_per_s", "H2D alone", "bytes/s",
                     "Pinned copy of a block, rank 0 alone, median of 8 after 2 warm-ups."},
    MetricDefinition{"h2d_together_bytes_per_s", "H2D together", "bytes/s",
                     "The same on all ranks at once, slowest rank; of one rank, the same figure."},
    MetricDefinition{"pack_copy_bytes_per_s", "pack and copy", "bytes/s",
                     "Ordinary memory through two pinned halves of 32 MiB by the packing threads "
                     "of the run, all ranks at once, slowest rank, median of 8 after 2 warm-ups."},
    MetricDefinition{"gather_bytes_per_s", "AllGather", "bytes/s",
                     "Gathered bytes (output) a second for a whole block, slowest rank."},
    MetricDefinition{"gather_ms", "AllGather of a block", "ms", "Its time, rank 0."},
    MetricDefinition{"gemm_alone_ms", "products alone", "ms",
                     "A series of square matrix products."},
    MetricDefinition{"gemm_loss_beside_h2d_ms", "lost beside H2D", "ms",
                     "What the series takes longer beside one block's copy, paired."},
    MetricDefinition{"gemm_loss_beside_gather_ms", "lost beside a gather", "ms",
                     "The same beside one block's gather."},
    MetricDefinition{"gemm_loss_beside_shard_ms", "lost beside shard and gather", "ms",
                     "The same beside a shard's copy and the gather behind it."},
    MetricDefinition{"event_ns", "event", "ns", "Host time of a record or a wait."},
    MetricDefinition{"copy_ns", "copy, host", "ns", "Host time of issuing a copy."},
    MetricDefinition{"gather_ns", "gather, host", "ns", "Host time of issuing a gather."},
};

// The largest reading over ranks; none when no rank has one.
template <typename Read>
std::optional<double> largest(const ArmSummary& arm, Read read) {
  std::optional<double> found;
  for (const ArmMeasurement* rank : arm.ranks) {
    const std::optional<double> value = read(*rank);
    found = value && (!found || *value > *found) ? value : found;
  }
  return found;
}

class ArmMetrics {
 public:
  ArmMetrics(const ArmSummary& arm, std::vector<Metric>& metrics) : arm_(arm), metrics_(metrics) {}

  void add(std::string_view name, std::optional<double> value,
           std::optional<double> limit = std::nullopt, std::uint64_t samples = 0) {
    if (!value) {
      return;
    }
    const auto definition = std::find_if(kArmDefinitions.begin(), kArmDefinitions.end(),
                                         [&](const auto& row) { return row.name == name; });
    require(definition != kArmDefinitions.end(), "metric without a definition");
    metrics_.push_back({.name = fmt::format("{}.{}", arm_.name, name),
                        .value = *value,
                        .unit = std::string(definition->unit),
                        .samples = samples == 0 ? arm_.ranks.size() : samples,
                        .limit = limit});
  }

  // Of the traced forwards.
  template <typename Read>
  void add_traced(std::string_view name, Read read, std::optional<double> limit = std::nullopt) {
    std::uint64_t samples = 0;
    const auto value = largest(arm_, [&](const ArmMeasurement& rank) -> std::optional<double> {
      if (!rank.blocks) {
        return std::nullopt;
      }
      samples += rank.blocks->forwards;
      return read(*rank.blocks);
    });
    add(name, value, limit, samples);
  }

 private:
  const ArmSummary& arm_;
  std::vector<Metric>& metrics_;
};

void add_forward(const ArmSummary& arm, double baseline_ms, ArmMetrics& metrics) {
  const auto& forward = arm.forward;
  const auto samples = forward.sample_count;
  const double limit = std::max(arm.link_limit_ms.value_or(0), baseline_ms);
  metrics.add("forward_ms", forward.median, limit, samples);
  metrics.add("forward_p99_ms", forward.p99, std::nullopt, samples);
  if (forward.relative) {
    metrics.add("slowdown_percent", forward.relative->difference * kPercent,
                arm.slowdown_limit ? std::optional(*arm.slowdown_limit * kPercent) : std::nullopt,
                samples);
    metrics.add("slowdown_low_percent", forward.relative->low * kPercent, std::nullopt, samples);
    metrics.add("slowdown_high_percent", forward.relative->high * kPercent, std::nullopt, samples);
  }
  if (arm.link_share) {
    metrics.add("link_share_percent", *arm.link_share * kPercent, kPercent, samples);
  }
}

void add_packing(const ArmSummary& arm, ArmMetrics& metrics) {
  if (arm.pack_copy_share) {
    metrics.add("pack_copy_share_percent", *arm.pack_copy_share * kPercent, std::nullopt,
                arm.forward.sample_count);
  }
}

std::optional<double> compute_p50_ms(const ArmSummary& arm) {
  return largest(arm, [](const ArmMeasurement& rank) {
    return rank.blocks ? std::optional(rank.blocks->compute_ms.p50) : std::nullopt;
  });
}

void add_blocks(const ArmSummary& arm, const ThroughputSummary& summary, ArmMetrics& metrics) {
  using Summary = telemetry::BlockTimingSummary;
  const auto& baseline = summary.arms.front();
  const auto limits = block_limits(*arm.ranks.front(), *summary.calibration);
  metrics.add_traced(
      "compute_p50_ms", [](const Summary& s) { return s.compute_ms.p50; },
      &arm == &baseline ? std::nullopt : compute_p50_ms(baseline));
  if (arm.effective().transfer != contracts::Transfer::kResident) {
    const auto exposed = [](double telemetry::Percentiles::*field) {
      return [field](const Summary& s) {
        return s.exposed_us ? std::optional((*s.exposed_us).*field) : std::nullopt;
      };
    };
    metrics.add_traced(
        "h2d_p50_ms", [](const Summary& s) { return s.h2d_ms.p50; }, limits.h2d_ms);
    metrics.add_traced(
        "gather_p50_ms", [](const Summary& s) { return s.gather_ms.p50; }, limits.gather_ms);
    metrics.add_traced("exposed_p50_us", exposed(&telemetry::Percentiles::p50));
    metrics.add_traced("exposed_p99_us", exposed(&telemetry::Percentiles::p99));
    metrics.add_traced(
        "dispatch_p50_us", [](const Summary& s) { return s.dispatch_us.p50; }, limits.dispatch_us);
    metrics.add_traced("dispatch_p99_us", [](const Summary& s) { return s.dispatch_us.p99; });
  }
  metrics.add_traced("launch_p50_us", [](const Summary& s) { return s.launch_us.p50; });
  metrics.add_traced("host_pack_s", [](const Summary& s) { return s.host_pack_s; });
  metrics.add_traced("comm_kernel_s", [](const Summary& s) { return s.comm_kernel_s; });
  metrics.add_traced("gpu_compute_s", [](const Summary& s) { return s.gpu_compute_s; });
  metrics.add_traced("h2d_calls_per_forward", [](const Summary& s) { return s.h2d_calls; });
  metrics.add_traced(
      "h2d_forward_bytes", [](const Summary& s) { return s.h2d_bytes; },
      static_cast<double>(arm.ranks.front()->h2d_bytes_per_forward));
}

void add_memory(const ArmSummary& arm, ArmMetrics& metrics) {
  const auto device = [](const ArmMeasurement& rank) {
    return std::optional(static_cast<double>(rank.rank.owned.device_peak));
  };
  metrics.add("device_weight_bytes", largest(arm, device),
              static_cast<double>(arm.ranks.front()->rank.owned.device_limit));
  metrics.add(
      "pinned_per_weight", largest(arm, [](const ArmMeasurement& rank) {
        return std::optional(static_cast<double>(rank.rank.owned.pinned_now) *
                             rank.rank.effective.group_size /
                             static_cast<double>(std::max<std::uint64_t>(rank.weight_bytes, 1)));
      }));
  metrics.add("hbm_peak_bytes",
              largest(arm, [](const ArmMeasurement& rank) -> std::optional<double> {
                if (!rank.counters.allocator_peak_bytes) {
                  return std::nullopt;
                }
                return static_cast<double>(rank.rank.owned.device_peak +
                                           *rank.counters.allocator_peak_bytes);
              }));
  metrics.add("hbm_used_bytes",
              largest(arm, [](const ArmMeasurement& rank) -> std::optional<double> {
                const auto& used = rank.counters.used_bytes;
                return used ? std::optional(static_cast<double>(*used)) : std::nullopt;
              }));
  metrics.add("nvlink_bytes_per_forward",
              largest(arm,
                      [](const ArmMeasurement& rank) -> std::optional<double> {
                        if (!rank.counters.nvlink_received_bytes || rank.counted_forwards == 0) {
                          return std::nullopt;
                        }
                        return static_cast<double>(*rank.counters.nvlink_received_bytes) /
                               static_cast<double>(rank.counted_forwards);
                      }),
              static_cast<double>(arm.ranks.front()->gather_bytes_per_forward));
}

std::optional<double> power_w(const engine::DeviceCounters& counters) {
  if (!counters.energy_mj || !counters.energy_ns || *counters.energy_ns == 0) {
    return std::nullopt;
  }
  // Millijoules a nanosecond are megawatts.
  return static_cast<double>(*counters.energy_mj) * 1e6 / static_cast<double>(*counters.energy_ns);
}

// Of the rank that takes most, beside that GPU's own limit.
void add_power(const ArmSummary& arm, ArmMetrics& metrics) {
  const auto most = *std::max_element(arm.ranks.begin(), arm.ranks.end(),
                                      [](const ArmMeasurement* one, const ArmMeasurement* other) {
                                        return power_w(one->counters) < power_w(other->counters);
                                      });
  const auto& milliwatts = most->counters.power_limit_mw;
  metrics.add("power_w", power_w(most->counters),
              milliwatts ? std::optional(static_cast<double>(*milliwatts) / 1000) : std::nullopt);
}

void add_prediction(const ArmSummary& arm, ArmMetrics& metrics) {
  const std::optional<double>& predicted = arm.ranks.front()->predicted_ms;
  metrics.add("predicted_forward_ms", predicted);
  if (predicted && arm.forward.median > 0) {
    metrics.add("prediction_ratio", *predicted / arm.forward.median);
  }
  double compared = 0;
  for (const ArmMeasurement* rank : arm.ranks) {
    compared += rank->compared_forwards;
  }
  metrics.add("compared_forwards", compared);
}

}  // namespace

std::span<const MetricDefinition> arm_metric_definitions() {
  return kArmDefinitions;
}

std::span<const MetricDefinition> run_metric_definitions() {
  return kRunDefinitions;
}

std::vector<Metric> throughput_metrics(const ThroughputSummary& summary) {
  std::vector<Metric> metrics;
  const double baseline_ms = summary.arms.front().forward.median;
  for (const ArmSummary& arm : summary.arms) {
    ArmMetrics list(arm, metrics);
    add_forward(arm, baseline_ms, list);
    add_packing(arm, list);
    add_blocks(arm, summary, list);
    add_memory(arm, list);
    add_power(arm, list);
    add_prediction(arm, list);
  }
  for (const MetricDefinition& row : kRunDefinitions) {
    const auto* figure = summary.calibration->find(row.name);
    const bool noise = row.name == kRunDefinitions.front().name;
    if (figure == nullptr && !(noise && summary.noise_floor)) {
      continue;
    }
    metrics.push_back({.name = std::string(row.name),
                       .value = noise ? *summary.noise_floor * kPercent : figure->value,
                       .unit = std::string(row.unit),
                       .samples = noise ? summary.rounds : figure->samples,
                       .limit = std::nullopt});
  }
  return metrics;
}

bool is_throughput_metric(std::string_view name, const Json& document) {
  if (!document.contains("measure_forwards")) {
    return false;
  }
  const auto among = [](std::span<const MetricDefinition> rows, std::string_view wanted) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const MetricDefinition& row) { return row.name == wanted; });
  };
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) {
    return among(kRunDefinitions, name);
  }
  const Json& arms = document.at("measure_forwards").at("arms");
  return among(kArmDefinitions, name.substr(dot + 1)) &&
         std::any_of(arms.begin(), arms.end(),
                     [&](const Json& arm) { return arm.at("name") == name.substr(0, dot); });
}

}  // namespace dlo::harness
