// Host time that the offloader adds to a block: before_block and after_block of a rank-local ring
// of 30 blocks with two slots. Blocks are small, so that issuing is what is measured, not the link.

#include <vector>

#include "benchmarks/bench_device.h"
#include "hot_path/block_ring.h"
#include "hot_path/rank_local_transfer.h"
#include "tests/support/pointer_binding.h"

namespace dlo::benchmarks {
namespace {

constexpr std::uint32_t kBlocks = 30;
constexpr std::uint32_t kSlots = 2;
constexpr std::uint64_t kBlockBytes = 64 * kKiB;

void hook_dispatch(benchmark::State& state) {
  BenchDevice bench;
  platform::Device& device = bench.get();
  const contracts::ShardLayout whole(kBlockBytes, 1, 0);
  const auto host = bench.host_buffer(kBlocks * kBlockBytes, /*pinned=*/true);
  const auto slots = bench.device_buffer(kSlots * kBlockBytes);
  std::vector<hot_path::BlockSource> sources;
  std::vector<test::PointerBinding> bindings(kBlocks);
  std::vector<contracts::BlockBinding*> pointers;
  for (std::uint32_t block = 0; block < kBlocks; ++block) {
    sources.push_back({host->span().subspan(block * kBlockBytes, kBlockBytes), whole});
    pointers.push_back(&bindings[block]);
  }
  hot_path::SlotPool pool(device, {slots->span().subspan(0, kBlockBytes),
                                   slots->span().subspan(kBlockBytes, kBlockBytes)});
  hot_path::RankLocalTransfer transfer(device, {sources});
  const hot_path::ChainedRing whole_ring{.block_count = kBlocks};
  hot_path::PrefetchChain chain(pool, transfer, {}, {whole_ring});
  hot_path::BlockRing ring(device, pool, chain, &bench.signal(), whole_ring, pointers);
  chain.prime();
  for ([[maybe_unused]] auto iteration : state) {
    state.SetIterationTime(bench.host_seconds([&] {
      for (std::uint32_t block = 0; block < kBlocks; ++block) {
        ring.before_block(block);
        ring.after_block(block);
      }
    }));
    bench.finish();
  }
  state.counters["s_per_block"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kBlocks,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.SetLabel(std::string(device.kind()));
}

BENCHMARK(hook_dispatch)->UseManualTime();

}  // namespace
}  // namespace dlo::benchmarks
