// Blocks from ordinary memory (a warm mapping) to the device by 1 to 8 packing threads: through the
// staging ring as the product does it, and as a bare loop that packs one half of a buffer while the
// other half is copied. Bytes per second of the whole; the ring's share of the bare loop is what it
// costs.

#include <cstring>
#include <vector>

#include "benchmarks/bench_device.h"
#include "hot_path/staged_transfer.h"
#include "platform/cpu/thread_executor.h"
#include "tests/support/sound_tensors.h"

namespace dlo::benchmarks {
namespace {

constexpr std::uint64_t kBlockBytes = 128 * kMiB;
constexpr std::uint32_t kBlocks = 4;
constexpr std::uint64_t kStagingBytes = 128 * kMiB;
constexpr std::uint64_t kStripeBytes = 4 * kMiB;  // what a thread of the bare loop takes at a time

hot_path::StagedSources sources_of(ByteSpan file, std::uint64_t chunk_bytes) {
  hot_path::StagedSources sources(1);
  for (std::uint32_t block = 0; block < kBlocks; ++block) {
    const auto* at = file.data() + block * kBlockBytes;
    sources[0].push_back({hot_path::PackTable({{0, at, kBlockBytes}}, kBlockBytes),
                          contracts::ShardLayout(kBlockBytes, 1, chunk_bytes)});
  }
  return sources;
}

void report(benchmark::State& state, BenchDevice& bench) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kBlocks * kBlockBytes));
  state.SetLabel(std::string(bench.get().kind()));
}

// Threads, MiB a chunk.
void staged_load(benchmark::State& state) {
  BenchDevice bench;
  platform::Device& device = bench.get();
  platform::ThreadExecutor threads(static_cast<std::size_t>(state.range(0)));
  const auto chunk_bytes = static_cast<std::uint64_t>(state.range(1)) * kMiB;
  const auto file = bench.host_buffer(kBlocks * kBlockBytes, /*pinned=*/false);
  const auto staging = bench.host_buffer(kStagingBytes, /*pinned=*/true);
  const auto slot = bench.device_buffer(kBlockBytes);
  hot_path::StagingRing ring;
  for (std::uint64_t at = 0; at < kStagingBytes; at += chunk_bytes) {
    ring.chunks.push_back(staging->span().subspan(at, chunk_bytes));
  }
  const test::SoundTensors tensors;
  hot_path::StagedTransfer transfer(device,
                                    std::make_shared<hot_path::ChunkPacker>(
                                        sources_of(file->span(), chunk_bytes), tensors, &threads),
                                    ring);
  const auto ready = device.create_event();
  const auto free = device.create_event();
  for ([[maybe_unused]] auto iteration : state) {
    state.SetIterationTime(bench.host_seconds([&] {
      for (std::uint32_t block = 0; block < kBlocks; ++block) {
        transfer.load({0, block, 0, slot->span(), ready, free});
      }
      bench.finish();
    }));
  }
  report(state, bench);
}

void pack_and_copy(benchmark::State& state) {
  BenchDevice bench;
  platform::Device& device = bench.get();
  platform::ThreadExecutor threads(static_cast<std::size_t>(state.range(0)));
  const auto file = bench.host_buffer(kBlocks * kBlockBytes, /*pinned=*/false);
  const auto staging = bench.host_buffer(kStagingBytes, /*pinned=*/true);
  const auto slot = bench.device_buffer(kBlockBytes);
  constexpr std::uint64_t kHalfBytes = kStagingBytes / 2;
  const std::vector<platform::EventId> copied{device.create_event(), device.create_event()};
  for ([[maybe_unused]] auto iteration : state) {
    state.SetIterationTime(bench.host_seconds([&] {
      for (std::uint64_t done = 0; done < kBlocks * kBlockBytes; done += kHalfBytes) {
        const auto half = done / kHalfBytes % 2;
        const auto target = staging->span().subspan(half * kHalfBytes, kHalfBytes);
        const auto waited =
            device.wait_host(copied[half], Deadline::after(device.clock().now(), 60 * kSecond), {});
        require(waited.ok(), "a copy of the bare loop failed");
        threads.parallel_for(kHalfBytes / kStripeBytes, [&](std::size_t stripe) {
          std::memcpy(target.data() + stripe * kStripeBytes,
                      file->span().data() + done + stripe * kStripeBytes, kStripeBytes);
        });
        device.copy_to_device(platform::StreamKind::kCopy, slot->span().subspan(0, kHalfBytes),
                              target, {});
        device.record(copied[half], platform::StreamKind::kCopy, {});
      }
      bench.finish();
    }));
  }
  report(state, bench);
}

BENCHMARK(pack_and_copy)->RangeMultiplier(2)->Range(1, 8)->UseManualTime();
BENCHMARK(staged_load)
    ->ArgsProduct({{1, 2, 4, 8}, {4, 16, 32}})
    ->ArgNames({"threads", "chunk_mib"})
    ->UseManualTime();

}  // namespace
}  // namespace dlo::benchmarks
