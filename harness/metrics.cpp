#include "harness/metrics.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string>

#include "telemetry/paired_comparison.h"

namespace dlo::harness {
namespace {

using engine::RankReport;

constexpr std::array kDefinitions{
    MetricDefinition{
        "h2d_bytes", "H2D bytes", "bytes",
        "Bytes of all host-to-device copies of block weights, prime and prefetch included, summed "
        "over the ranks. Counted by the copy ledger at the platform seam, where every copy passes. "
        "Held against the plan, which knows each block's padded size and how often it is fetched; "
        "the two must be equal (invariant I3). The physical limit is the host link."},
    MetricDefinition{
        "h2d_bytes_per_forward", "H2D bytes per forward", "bytes",
        "H2D bytes of a rank divided by its forwards (walks of the block ring), mean over the "
        "ranks. A rank-local rank moves the padded bytes of all streamed blocks a forward; with "
        "AllGather over W ranks each moves 1/W of that. Prime and tail prefetch are part of it, so "
        "it lies a little above one walk of the ring."},
    MetricDefinition{"h2d_calls", "H2D copies", "calls",
                     "Number of those copies, summed over the ranks; one a block without chunks, "
                     "one a chunk with them. Counted by the same ledger."},
    MetricDefinition{
        "gather_bytes", "gathered bytes", "bytes",
        "Bytes of block weights received from peers by the AllGather of the weight group, summed "
        "over the ranks: (W-1)/W of the padded bytes of each gathered block. Counted by the "
        "ledger at the communicator seam and held against the plan; must be equal (I3)."},
    MetricDefinition{"gather_calls", "AllGather calls", "calls",
                     "Number of weight collectives, summed over the ranks. Counted by the same "
                     "ledger."},
    MetricDefinition{
        "host_private_peak_bytes", "owned host bytes, peak", "bytes",
        "Weight bytes in host memory that belong to one rank alone, pinned and pageable, at their "
        "peak, largest rank. From the platform's own books of allocations, so pages shared through "
        "the page cache do not count. The peak is reached while a rank loads and packs."},
    MetricDefinition{
        "host_private_bytes", "owned host bytes", "bytes",
        "The same after the last forward, largest rank: what a rank keeps while it serves. "
        "Resident "
        "keeps none, rank-local a copy of all streamed blocks, AllGather over W ranks 1/W of it. "
        "Held against what the plan promises for the mode."},
    MetricDefinition{"host_private_total_bytes", "owned host bytes, all ranks", "bytes",
                     "The same, summed over the ranks: what the node pays for the topology."},
    MetricDefinition{"pinned_peak_bytes", "pinned bytes", "bytes",
                     "Page-locked part of the owned host bytes at its peak, largest rank. From the "
                     "platform's books. The physical limit is RLIMIT_MEMLOCK, which dlo doctor "
                     "shows."},
    MetricDefinition{
        "device_peak_bytes", "device bytes, peak", "bytes",
        "Weight bytes in device memory at their peak, on the rank that comes nearest to its limit. "
        "From the platform's books. The limit is what invariant I4 allows: slots x largest padded "
        "block, input slots x largest piece, resident blocks and the children outside blocks."},
    MetricDefinition{
        "pss_total_bytes", "PSS, all ranks", "bytes",
        "Proportional set size summed over the ranks, from /proc/self/smaps_rollup after the last "
        "forward: a page shared by n processes counts 1/n in each, so the sum is what the node "
        "really holds. Libraries and the model's activations are part of it."},
    MetricDefinition{
        "weight_pss_bytes", "PSS of the weights, all ranks", "bytes",
        "What the PSS of each rank grew by between the moment before the first weight was loaded "
        "and the last forward, summed over the ranks, without the memory that plays the device on "
        "a CPU. Held against the bytes of one copy of the model: private copies cost one a rank, a "
        "mapping that ranks share one in all. Activations and threads are part of it."},
    MetricDefinition{"weight_copies", "copies of the weights in host memory", "copies",
                     "The same divided by the bytes of one copy of the model's tensors, unpadded."},
    MetricDefinition{
        "private_dirty_copies", "copies of the weights in private pages", "copies",
        "Growth of Private_Dirty over the same time, summed over the ranks and likewise without a "
        "CPU's device memory, divided by the bytes of one copy: what every rank pays for alone. "
        "Pinned staging is part of it."},
    MetricDefinition{"shared_clean_bytes", "shared clean", "bytes",
                     "Shared_Clean of the same file, largest rank: pages of mapped files that "
                     "another process maps too and that the kernel may drop."},
    MetricDefinition{"pss_file_total_bytes", "PSS of files, all ranks", "bytes",
                     "Pss_File of the same file, summed over the ranks: mapped checkpoints and "
                     "the program's own libraries."},
    MetricDefinition{"private_dirty_bytes", "private dirty", "bytes",
                     "Private_Dirty of the same file, largest rank: pages that no other process "
                     "shares and that cannot be dropped."},
    MetricDefinition{"rss_bytes", "RSS", "bytes",
                     "Resident set size of the same file, largest rank; shared pages count in "
                     "full on every rank."},
    MetricDefinition{
        "forward_ms", "forward", "ms",
        "Wall time of a request on one rank divided by its forwards, median over the requests of "
        "all ranks; the samples are their number. Where forwards are timed one by one it is the "
        "median over the first arm's, each rank's own. On a CPU whose cores the ranks share it "
        "says how long a test takes and nothing about an accelerator."},
};

using Reading = std::function<std::uint64_t(const RankReport&)>;

double as_double(std::uint64_t value) {
  return static_cast<double>(value);
}

double sum(const std::vector<RankReport>& ranks, const Reading& reading) {
  std::uint64_t total = 0;
  for (const RankReport& rank : ranks) {
    total += reading(rank);
  }
  return as_double(total);
}

const RankReport& largest(const std::vector<RankReport>& ranks, const Reading& reading) {
  return *std::max_element(
      ranks.begin(), ranks.end(),
      [&](const RankReport& a, const RankReport& b) { return reading(a) < reading(b); });
}

// The rank that uses the largest share of what it is allowed.
const RankReport& nearest_to_device_limit(const std::vector<RankReport>& ranks) {
  const auto share = [](const RankReport& rank) {
    return as_double(rank.owned.device_peak) /
           as_double(std::max<std::uint64_t>(rank.owned.device_limit, 1));
  };
  return *std::max_element(
      ranks.begin(), ranks.end(),
      [&](const RankReport& a, const RankReport& b) { return share(a) < share(b); });
}

double mean_h2d_per_forward(const std::vector<RankReport>& ranks) {
  const double forwards = sum(ranks, [](const RankReport& r) { return r.traffic.forward_count; });
  const double bytes = sum(ranks, [](const RankReport& r) { return r.traffic.h2d_bytes; });
  return forwards > 0 ? bytes / forwards : 0;
}

std::vector<double> all_forward_ms(const std::vector<RankReport>& ranks) {
  std::vector<double> all;
  for (const RankReport& rank : ranks) {
    all.insert(all.end(), rank.forward_ms.begin(), rank.forward_ms.end());
  }
  return all;
}

// Fills metrics in the order of the definitions and takes names and units from them.
class MetricList {
 public:
  explicit MetricList(std::uint64_t samples) : samples_(samples) {}

  void add(std::string_view name, double value, std::optional<double> limit = std::nullopt) {
    add_sampled(name, value, samples_, limit);
  }
  void add_sampled(std::string_view name, double value, std::uint64_t samples,
                   std::optional<double> limit = std::nullopt) {
    const auto definition =
        std::find_if(kDefinitions.begin(), kDefinitions.end(),
                     [&](const MetricDefinition& row) { return row.name == name; });
    require(definition != kDefinitions.end(), "metric without a definition");
    metrics_.push_back({.name = std::string(name),
                        .value = value,
                        .unit = std::string(definition->unit),
                        .samples = samples,
                        .limit = limit});
  }
  [[nodiscard]] std::vector<Metric> take() { return std::move(metrics_); }

 private:
  std::uint64_t samples_;
  std::vector<Metric> metrics_;
};

void add_traffic(MetricList& list, const std::vector<RankReport>& ranks) {
  list.add("h2d_bytes", sum(ranks, [](const RankReport& r) { return r.traffic.h2d_bytes; }),
           sum(ranks, [](const RankReport& r) { return r.traffic.h2d_bytes_planned; }));
  list.add("h2d_bytes_per_forward", mean_h2d_per_forward(ranks));
  list.add("h2d_calls", sum(ranks, [](const RankReport& r) { return r.traffic.h2d_calls; }));
  list.add("gather_bytes", sum(ranks, [](const RankReport& r) { return r.traffic.gather_bytes; }),
           sum(ranks, [](const RankReport& r) { return r.traffic.gather_bytes_planned; }));
  list.add("gather_calls", sum(ranks, [](const RankReport& r) { return r.traffic.gather_calls; }));
}

// What the weights made of the processes.
void add_growth(MetricList& list, const std::vector<RankReport>& ranks) {
  const auto growth = [&ranks](std::uint64_t engine::ProcessMemory::*figure) {
    double total = 0;
    for (const RankReport& rank : ranks) {
      total += as_double(rank.process.*figure) - as_double(rank.baseline.*figure) -
               as_double(rank.owned.device_in_host);
    }
    return total;
  };
  const double copy_bytes = as_double(std::max<std::uint64_t>(ranks.front().weight_bytes, 1));
  const double pss = growth(&engine::ProcessMemory::pss_bytes);
  const Reading shared = [](const RankReport& r) { return r.process.shared_clean_bytes; };
  list.add("weight_pss_bytes", pss, copy_bytes);
  list.add("weight_copies", pss / copy_bytes);
  list.add("private_dirty_copies",
           growth(&engine::ProcessMemory::private_dirty_bytes) / copy_bytes);
  list.add("shared_clean_bytes", as_double(shared(largest(ranks, shared))));
  list.add("pss_file_total_bytes",
           sum(ranks, [](const RankReport& r) { return r.process.pss_file_bytes; }));
}

void add_memory(MetricList& list, const std::vector<RankReport>& ranks) {
  const Reading host_peak = [](const RankReport& r) { return r.owned.host_private_peak; };
  const Reading host_now = [](const RankReport& r) { return r.owned.host_private_now; };
  const Reading pinned = [](const RankReport& r) { return r.owned.pinned_peak; };
  const Reading dirty = [](const RankReport& r) { return r.process.private_dirty_bytes; };
  const Reading rss = [](const RankReport& r) { return r.process.rss_bytes; };
  const RankReport& keeper = largest(ranks, host_now);
  const RankReport& device = nearest_to_device_limit(ranks);
  list.add("host_private_peak_bytes", as_double(host_peak(largest(ranks, host_peak))));
  list.add("host_private_bytes", as_double(host_now(keeper)),
           as_double(keeper.owned.host_private_limit));
  list.add("host_private_total_bytes", sum(ranks, host_now));
  list.add("pinned_peak_bytes", as_double(pinned(largest(ranks, pinned))));
  list.add("device_peak_bytes", as_double(device.owned.device_peak),
           as_double(device.owned.device_limit));
  list.add("pss_total_bytes", sum(ranks, [](const RankReport& r) { return r.process.pss_bytes; }));
  add_growth(list, ranks);
  list.add("private_dirty_bytes", as_double(dirty(largest(ranks, dirty))));
  list.add("rss_bytes", as_double(rss(largest(ranks, rss))));
}

}  // namespace

std::span<const MetricDefinition> metric_definitions() {
  return kDefinitions;
}

std::vector<Metric> metrics_of(const engine::RunReport& report) {
  if (report.ranks.empty()) {
    return {};
  }
  MetricList list(report.ranks.size());
  add_traffic(list, report.ranks);
  add_memory(list, report.ranks);
  const std::vector<double> forward_ms = all_forward_ms(report.ranks);
  list.add_sampled("forward_ms", forward_ms.empty() ? 0 : telemetry::median_of(forward_ms),
                   forward_ms.size());
  return list.take();
}

}  // namespace dlo::harness
