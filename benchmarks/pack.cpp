// Packing: ordinary memory into a ring of pinned staging by several host threads, by the ring's
// size, alone and while the link copies from other pinned memory all the time. Bytes per second of
// the host. The default size of the staging ring (backend/transfer_plan.h) is chosen by this.

#include <cstring>

#include "benchmarks/bench_device.h"
#include "platform/cpu/thread_executor.h"

namespace dlo::benchmarks {
namespace {

constexpr std::uint64_t kPieceBytes = kMiB / 2;
constexpr std::uint64_t kPackBytes = 512 * kMiB;
constexpr std::uint64_t kLinkBytes = 64 * kMiB;
// More than the link can move while the pack runs, on every machine so far.
constexpr int kLinkCopies = 128;

// Threads, MiB of the ring.
void pack(benchmark::State& state, bool beside_h2d) {
  BenchDevice bench;
  platform::ThreadExecutor threads(static_cast<std::size_t>(state.range(0)));
  const auto ring_bytes = static_cast<std::uint64_t>(state.range(1)) * kMiB;
  const auto source = bench.host_buffer(kPackBytes, /*pinned=*/false);
  const auto ring = bench.host_buffer(ring_bytes, /*pinned=*/true);
  const auto link_source = bench.host_buffer(kLinkBytes, /*pinned=*/true);
  const auto link_target = bench.device_buffer(kLinkBytes);
  for ([[maybe_unused]] auto iteration : state) {
    for (int i = 0; beside_h2d && i < kLinkCopies; ++i) {
      bench.get().copy_to_device(platform::StreamKind::kCopy, link_target->span(),
                                 link_source->span(), {});
    }
    state.SetIterationTime(bench.host_seconds([&] {
      threads.parallel_for(kPackBytes / kPieceBytes, [&](std::size_t piece) {
        const auto at = piece * kPieceBytes;
        std::memcpy(ring->span().data() + at % ring_bytes, source->span().data() + at, kPieceBytes);
      });
    }));
    bench.finish();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kPackBytes));
  state.SetLabel(std::string(bench.get().kind()));
}

BENCHMARK_CAPTURE(pack, alone, false)
    ->ArgsProduct({{1, 2, 4, 8}, {32, 64, 256}})
    ->ArgNames({"threads", "ring_mib"})
    ->UseManualTime();
BENCHMARK_CAPTURE(pack, beside_h2d, true)
    ->ArgsProduct({{1, 2, 4, 8}, {64}})
    ->ArgNames({"threads", "ring_mib"})
    ->UseManualTime();

}  // namespace
}  // namespace dlo::benchmarks
