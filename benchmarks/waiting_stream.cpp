// Small kernels of the compute stream beside a long copy: what they lose while the comm stream
// waits, for an event behind that copy or for a value in host memory, as a gather by copy engines
// waits. A stream that waits should cost the others nothing; on a GPU that depends on which
// hardware queues the driver gives the streams (CUDA_DEVICE_MAX_CONNECTIONS).

#include <cstring>
#include <optional>

#include "benchmarks/bench_device.h"

#ifdef DLO_WITH_CUDA
#include <cuda_runtime_api.h>

#include "comm/copy_engine/stream_values.h"
#endif

namespace dlo::benchmarks {
namespace {

using platform::StreamKind;

constexpr std::uint64_t kCopyBytes = 512 * kMiB;  // outlasts the kernels
constexpr std::uint64_t kKernelBytes = 64 * kKiB;
constexpr int kKernels = 200;

enum Waiting : std::int64_t { kNobody = 0, kForEvent = 1, kForValue = 2 };

// One kernel where there is a GPU: memory that is set.
void launch_small(platform::Device& device, DeviceSpan span) {
  const auto native = device.native_stream(StreamKind::kCompute);
  device.launch(StreamKind::kCompute,
                [native, span] {
#ifdef DLO_WITH_CUDA
                  if (native.present()) {
                    require(
                        cudaMemsetAsync(span.data, 0, span.bytes,
                                        static_cast<cudaStream_t>(native.handle)) == cudaSuccess,
                        "memory is not set");
                    return;
                  }
#endif
                  std::memset(span.data, 0, span.bytes);
                },
                {});
}

#ifdef DLO_WITH_CUDA
// A value in host memory that the comm stream waits for and the compute stream writes at its end.
class SharedValue {
 public:
  explicit SharedValue(platform::Device& device) : device_(device) {
    require(cudaHostAlloc(&host_, sizeof(std::uint32_t), cudaHostAllocMapped) == cudaSuccess &&
                cudaHostGetDevicePointer(&address_, host_, 0) == cudaSuccess,
            "no host memory that the device sees");
    *static_cast<std::uint32_t*>(host_) = 0;
  }
  ~SharedValue() { static_cast<void>(cudaFreeHost(host_)); }
  SharedValue(const SharedValue&) = delete;
  SharedValue& operator=(const SharedValue&) = delete;

  void await_next() {
    batch_.wait(reinterpret_cast<CUdeviceptr>(address_), ++number_);
    enqueue(StreamKind::kComm);
  }
  void write() {
    batch_.write(reinterpret_cast<CUdeviceptr>(address_), number_);
    enqueue(StreamKind::kCompute);
  }

 private:
  void enqueue(StreamKind kind) {
    values_.value().enqueue(static_cast<cudaStream_t>(device_.native_stream(kind).handle), batch_);
  }

  platform::Device& device_;
  Result<comm::StreamValues> values_ = comm::StreamValues::load();
  comm::ValueBatch batch_{1};
  void* host_ = nullptr;
  void* address_ = nullptr;
  std::uint32_t number_ = 0;
};
#else
// Streams that are threads have no values to wait for.
struct SharedValue {
  explicit SharedValue(platform::Device& /*device*/) {}
  void await_next() {}
  void write() {}
};
#endif

void kernels_beside_a_waiting_stream(benchmark::State& state) {
  BenchDevice bench;
  platform::Device& device = bench.get();
  const auto waiting = static_cast<Waiting>(state.range(0));
  if (waiting == kForValue && !device.native_stream(StreamKind::kComm).present()) {
    state.SkipWithError("only a GPU's streams wait for values");
    return;
  }
  const auto host = bench.host_buffer(kCopyBytes, /*pinned=*/true);
  const auto target = bench.device_buffer(kCopyBytes);
  const auto small = bench.device_buffer(kKernelBytes);
  const auto landed = device.create_event();
  std::optional<SharedValue> value;
  if (waiting == kForValue) {
    value.emplace(device);
  }
  for ([[maybe_unused]] auto iteration : state) {
    device.copy_to_device(StreamKind::kCopy, target->span(), ConstByteSpan(host->span()), {});
    device.record(landed, StreamKind::kCopy, {});
    if (waiting == kForEvent) {
      device.wait(StreamKind::kComm, landed, {});
    } else if (waiting == kForValue) {
      value->await_next();
    }
    state.SetIterationTime(bench.stream_seconds(StreamKind::kCompute, [&] {
      for (int kernel = 0; kernel < kKernels; ++kernel) {
        launch_small(device, small->span());
      }
      if (waiting == kForValue) {
        value->write();
      }
    }));
  }
  state.counters["s_per_kernel"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kKernels,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.SetLabel(std::string(device.kind()));
}

BENCHMARK(kernels_beside_a_waiting_stream)
    ->Arg(kNobody)
    ->Arg(kForEvent)
    ->Arg(kForValue)
    ->ArgName("waits_for")
    ->UseManualTime();

}  // namespace
}  // namespace dlo::benchmarks
