// SHA-256 of one core, by size.

#include <benchmark/benchmark.h>

#include <vector>

#include "base/sha256.h"

namespace dlo::benchmarks {
namespace {

void sha256(benchmark::State& state) {
  const std::vector<std::byte> bytes(static_cast<std::size_t>(state.range(0)), std::byte{0x5A});
  for ([[maybe_unused]] auto iteration : state) {
    benchmark::DoNotOptimize(sha256_hex(bytes));
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

BENCHMARK(sha256)->RangeMultiplier(16)->Range(4 << 10, 64 << 20);

}  // namespace
}  // namespace dlo::benchmarks
