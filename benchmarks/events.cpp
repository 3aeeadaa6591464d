// Host time of one event recorded on a stream and awaited by another.

#include "benchmarks/bench_device.h"

namespace dlo::benchmarks {
namespace {

constexpr int kPairs = 500;  // fewer than a stream of the CPU platform holds

void record_and_wait(benchmark::State& state) {
  BenchDevice bench;
  platform::Device& device = bench.get();
  const platform::EventId event = device.create_event();
  for ([[maybe_unused]] auto iteration : state) {
    state.SetIterationTime(bench.host_seconds([&] {
      for (int i = 0; i < kPairs; ++i) {
        device.record(event, platform::StreamKind::kCopy, {});
        device.wait(platform::StreamKind::kCompute, event, {});
      }
    }));
    bench.finish();
  }
  state.counters["s_per_pair"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kPairs,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.SetLabel(std::string(device.kind()));
}

BENCHMARK(record_and_wait)->UseManualTime();

}  // namespace
}  // namespace dlo::benchmarks
