// One AllGather over two ranks that are threads of this process, by bytes that come out. On the
// CPU: the gather of GPUs needs a process a rank, and the calibration of a throughput run measures
// it under mpirun.

#include <mutex>

#include "benchmarks/bench_ranks.h"

namespace dlo::benchmarks {
namespace {

constexpr int kRanks = 2;

void gather(benchmark::State& state) {
  const auto bytes = static_cast<std::uint64_t>(state.range(0));
  for ([[maybe_unused]] auto iteration : state) {
    std::mutex mutex;
    double slowest = 0.0;
    for_each_rank(kRanks, [&](BenchRank rank) {
      const auto input = rank.bench.device_buffer(bytes / kRanks);
      const auto output = rank.bench.device_buffer(bytes);
      const auto issue = [&] {
        rank.communicator.all_gather(rank.bench.get(), platform::StreamKind::kComm, input->span(),
                                     output->span(), {.site = platform::Site::kGather});
      };
      issue();  // touches the pages, and the ranks start together
      const double seconds = rank.bench.stream_seconds(platform::StreamKind::kComm, issue);
      const std::lock_guard lock(mutex);
      slowest = std::max(slowest, seconds);
    });
    state.SetIterationTime(slowest);
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
  state.SetLabel("cpu");
}

BENCHMARK(gather)->RangeMultiplier(4)->Range(64 << 10, 64 << 20)->UseManualTime()->Iterations(10);

}  // namespace
}  // namespace dlo::benchmarks
