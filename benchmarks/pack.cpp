// Packing: ordinary memory into pinned staging by several host threads, alone and while the link
// copies from other pinned memory all the time. Bytes per second of the host.

#include <cstring>

#include "benchmarks/bench_device.h"
#include "platform/cpu/thread_executor.h"

namespace dlo::benchmarks {
namespace {

constexpr std::uint64_t kPieceBytes = 4 * kMiB;
constexpr std::uint64_t kPackBytes = 128 * kMiB;
constexpr std::uint64_t kLinkBytes = 64 * kMiB;

void pack(benchmark::State& state, bool beside_h2d) {
  BenchDevice bench;
  platform::ThreadExecutor threads(static_cast<std::size_t>(state.range(0)));
  const auto source = bench.host_buffer(kPackBytes, /*pinned=*/false);
  const auto staging = bench.host_buffer(kPackBytes, /*pinned=*/true);
  const auto link_source = bench.host_buffer(kLinkBytes, /*pinned=*/true);
  const auto link_target = bench.device_buffer(kLinkBytes);
  for ([[maybe_unused]] auto iteration : state) {
    // More than the link can move while the pack runs, on every machine so far.
    for (int i = 0; beside_h2d && i < 16; ++i) {
      bench.get().copy_to_device(platform::StreamKind::kCopy, link_target->span(),
                                 link_source->span(), {});
    }
    state.SetIterationTime(bench.host_seconds([&] {
      threads.parallel_for(kPackBytes / kPieceBytes, [&](std::size_t piece) {
        std::memcpy(staging->span().data() + piece * kPieceBytes,
                    source->span().data() + piece * kPieceBytes, kPieceBytes);
      });
    }));
    bench.finish();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kPackBytes));
  state.SetLabel(std::string(bench.get().kind()));
}

BENCHMARK_CAPTURE(pack, alone, false)->RangeMultiplier(2)->Range(1, 8)->UseManualTime();
BENCHMARK_CAPTURE(pack, beside_h2d, true)->RangeMultiplier(2)->Range(1, 8)->UseManualTime();

}  // namespace
}  // namespace dlo::benchmarks
