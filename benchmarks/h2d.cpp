// One copy from host to device, by size and by kind of host memory. Bytes per second of the link,
// in the device's own time.

#include "benchmarks/bench_device.h"

namespace dlo::benchmarks {
namespace {

void h2d(benchmark::State& state, bool pinned) {
  BenchDevice bench;
  const auto bytes = static_cast<std::uint64_t>(state.range(0));
  const auto target = bench.device_buffer(bytes);
  const auto source = bench.host_buffer(bytes, pinned);
  for ([[maybe_unused]] auto iteration : state) {
    state.SetIterationTime(bench.stream_seconds(platform::StreamKind::kCopy, [&] {
      bench.get().copy_to_device(platform::StreamKind::kCopy, target->span(), source->span(), {});
    }));
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
  state.SetLabel(std::string(bench.get().kind()));
}

BENCHMARK_CAPTURE(h2d, pinned, true)
    ->RangeMultiplier(4)
    ->Range(64 << 10, 256 << 20)
    ->UseManualTime();
BENCHMARK_CAPTURE(h2d, pageable, false)
    ->RangeMultiplier(4)
    ->Range(64 << 10, 256 << 20)
    ->UseManualTime();

}  // namespace
}  // namespace dlo::benchmarks
