// Host time that the offloader adds to a block: before_block and after_block of a ring of 30 blocks
// with two slots, rank-local, and by AllGather over two ranks (on the CPU, as gather.cpp). Blocks
// are small, so that issuing is what is measured, not the link.

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "benchmarks/bench_ranks.h"
#include "hot_path/all_gather_transfer.h"
#include "hot_path/block_ring.h"
#include "hot_path/rank_local_transfer.h"
#include "tests/support/pointer_binding.h"

namespace dlo::benchmarks {
namespace {

constexpr std::uint32_t kBlocks = 30;
constexpr std::uint32_t kSlots = 2;
constexpr std::uint64_t kBlockBytes = 64 * kKiB;
constexpr std::uint32_t kRanks = 2;
constexpr std::uint32_t kWalks = 10;  // of each rank

using MakeTransfer =
    std::function<std::unique_ptr<hot_path::BlockTransfer>(hot_path::RingSources sources)>;

// A primed ring of the product and what it streams from and into.
class WalkedRing {
 public:
  WalkedRing(BenchDevice& bench, const contracts::ShardLayout& shard, const MakeTransfer& make)
      : bench_(bench),
        host_(bench.host_buffer(kBlocks * shard.shard_bytes(), /*pinned=*/true)),
        slots_(bench.device_buffer(kSlots * shard.padded_bytes())),
        bindings_(kBlocks),
        pool_(bench.get(), {slots_->span().subspan(0, shard.padded_bytes()),
                            slots_->span().subspan(shard.padded_bytes(), shard.padded_bytes())}),
        transfer_(make({make_sources(shard)})),
        chain_(pool_, *transfer_, {}, {kRing}),
        ring_(bench.get(), pool_, chain_, &bench.signal(), kRing, make_pointers()) {
    chain_.prime();
  }

  // Host seconds of one walk; returns when the device is done with it.
  double walk() {
    const double seconds = bench_.host_seconds([&] {
      for (std::uint32_t block = 0; block < kBlocks; ++block) {
        ring_.before_block(block);
        ring_.after_block(block);
      }
    });
    bench_.finish();
    return seconds;
  }

 private:
  static constexpr hot_path::ChainedRing kRing{.block_count = kBlocks};

  std::vector<hot_path::BlockSource> make_sources(const contracts::ShardLayout& shard) {
    std::vector<hot_path::BlockSource> sources;
    for (std::uint32_t block = 0; block < kBlocks; ++block) {
      sources.push_back(
          {host_->span().subspan(block * shard.shard_bytes(), shard.shard_bytes()), shard});
    }
    return sources;
  }
  std::vector<contracts::BlockBinding*> make_pointers() {
    std::vector<contracts::BlockBinding*> pointers;
    for (auto& binding : bindings_) {
      pointers.push_back(&binding);
    }
    return pointers;
  }

  BenchDevice& bench_;
  std::unique_ptr<platform::HostBuffer> host_;
  std::unique_ptr<platform::DeviceBuffer> slots_;
  std::vector<test::PointerBinding> bindings_;
  hot_path::SlotPool pool_;
  std::unique_ptr<hot_path::BlockTransfer> transfer_;
  hot_path::PrefetchChain chain_;
  hot_path::BlockRing ring_;
};

void count_blocks(benchmark::State& state, std::string_view device) {
  state.counters["s_per_block"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kBlocks,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.SetLabel(std::string(device));
}

void hook_dispatch(benchmark::State& state) {
  BenchDevice bench;
  platform::Device& device = bench.get();
  WalkedRing ring(bench, contracts::ShardLayout(kBlockBytes, 1, 0), [&](auto sources) {
    return std::make_unique<hot_path::RankLocalTransfer>(device, std::move(sources));
  });
  for ([[maybe_unused]] auto iteration : state) {
    state.SetIterationTime(ring.walk());
  }
  count_blocks(state, device.kind());
}

// Seconds of a walk, mean over several. Ranks keep step, for each gathers what the other brings.
double walk_gathered(BenchRank rank) {
  platform::Device& device = rank.bench.get();
  const contracts::ShardLayout shard(kBlockBytes, kRanks, 0);
  const auto first = rank.bench.device_buffer(shard.largest_piece_bytes());
  const auto second = rank.bench.device_buffer(shard.largest_piece_bytes());
  WalkedRing ring(rank.bench, shard, [&](auto sources) {
    return std::make_unique<hot_path::AllGatherTransfer>(
        device, rank.communicator, std::move(sources),
        std::vector<DeviceSpan>{first->span(), second->span()});
  });
  static_cast<void>(ring.walk());  // touches the pages, and the ranks start together
  double seconds = 0.0;
  for (std::uint32_t i = 0; i < kWalks; ++i) {
    seconds += ring.walk();
  }
  return seconds / kWalks;
}

void hook_dispatch_all_gather(benchmark::State& state) {
  for ([[maybe_unused]] auto iteration : state) {
    std::mutex mutex;
    double slowest = 0.0;
    for_each_rank(kRanks, [&](BenchRank rank) {
      const double seconds = walk_gathered(rank);
      const std::lock_guard lock(mutex);
      slowest = std::max(slowest, seconds);
    });
    state.SetIterationTime(slowest);
  }
  count_blocks(state, "cpu");
}

BENCHMARK(hook_dispatch)->UseManualTime();
BENCHMARK(hook_dispatch_all_gather)->UseManualTime()->Iterations(10);

}  // namespace
}  // namespace dlo::benchmarks
