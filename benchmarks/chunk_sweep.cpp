// Blocks by AllGather over two ranks, cut into chunks of several sizes: shard H2D into two input
// slots and gather, by the product's own transfer, without compute. On the CPU, as gather.cpp.

#include <mutex>

#include "benchmarks/bench_ranks.h"
#include "hot_path/all_gather_transfer.h"

namespace dlo::benchmarks {
namespace {

constexpr std::uint32_t kRanks = 2;
constexpr std::uint64_t kBlockBytes = 32 * kMiB;
constexpr std::uint32_t kLoads = 4;

// Seconds from the first load to the last gather.
double stream_blocks(BenchRank rank, std::uint64_t chunk_bytes) {
  platform::Device& device = rank.bench.get();
  const contracts::ShardLayout shard(kBlockBytes, kRanks, chunk_bytes);
  const auto host = rank.bench.host_buffer(shard.shard_bytes(), /*pinned=*/true);
  const auto slot = rank.bench.device_buffer(shard.padded_bytes());
  const auto first = rank.bench.device_buffer(shard.largest_piece_bytes());
  const auto second = rank.bench.device_buffer(shard.largest_piece_bytes());
  hot_path::AllGatherTransfer transfer(device, rank.communicator,
                                       {{hot_path::BlockSource{host->span(), shard}}},
                                       {first->span(), second->span()});
  const hot_path::BlockLoad load{
      .slot_span = slot->span(), .ready = device.create_event(), .free = device.create_event()};
  transfer.load(load);  // touches the pages, and the ranks start together
  return rank.bench.stream_seconds(platform::StreamKind::kComm, [&] {
    for (std::uint32_t i = 0; i < kLoads; ++i) {
      transfer.load(load);
    }
  });
}

void chunk_sweep(benchmark::State& state) {
  const auto chunk_bytes = static_cast<std::uint64_t>(state.range(0));
  for ([[maybe_unused]] auto iteration : state) {
    std::mutex mutex;
    double slowest = 0.0;
    for_each_rank(kRanks, [&](BenchRank rank) {
      const double seconds = stream_blocks(rank, chunk_bytes);
      const std::lock_guard lock(mutex);
      slowest = std::max(slowest, seconds);
    });
    state.SetIterationTime(slowest);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kLoads * kBlockBytes));
  state.SetLabel("cpu");
}

BENCHMARK(chunk_sweep)
    ->RangeMultiplier(4)
    ->Range(64 << 10, 16 << 20)
    ->UseManualTime()
    ->Iterations(10);

}  // namespace
}  // namespace dlo::benchmarks
