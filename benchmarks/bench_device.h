// Owns: BenchDevice, the device that a benchmark measures on: the first CUDA device where build and
// machine have one, the CPU platform otherwise (or with DLO_BENCHMARK_DEVICE=cpu), with clock and
// failure signal; and how an interval of one of its streams is timed.
// Must not own: what is measured. Threading: the thread that makes it launches.
// Failure: what the device refuses is thrown as RunError.
#pragma once

#include <benchmark/benchmark.h>

#include <memory>

#include "base/error.h"
#include "base/failure_signal.h"
#include "platform/device.h"
#include "platform/posix/steady_clock.h"

namespace dlo::benchmarks {

enum class Where { kBest, kCpu };

class BenchDevice {
 public:
  explicit BenchDevice(Where where = Where::kBest);

  [[nodiscard]] platform::Device& get() { return *device_; }
  [[nodiscard]] FailureSignal& signal() { return *signal_; }

  [[nodiscard]] std::unique_ptr<platform::DeviceBuffer> device_buffer(std::uint64_t bytes);
  // Pinned or pageable, each page touched.
  [[nodiscard]] std::unique_ptr<platform::HostBuffer> host_buffer(std::uint64_t bytes, bool pinned);

  // Seconds of the device between the first and the last operation that `issue` puts on `stream`.
  template <typename Issue>
  [[nodiscard]] double stream_seconds(platform::StreamKind stream, Issue issue) {
    device_->mark_time(from_, stream);
    issue();
    device_->mark_time(to_, stream);
    finish();
    return static_cast<double>(device_->elapsed(from_, to_).value()) / 1e9;
  }
  // Host seconds of `work`.
  template <typename Work>
  [[nodiscard]] double host_seconds(Work work) {
    const Nanoseconds start = clock_.now();
    work();
    return static_cast<double>(clock_.now() - start) / 1e9;
  }
  // Waits for everything issued.
  void finish();

 private:
  platform::SteadyClock clock_;
  std::unique_ptr<FailureSignal> signal_;
  std::unique_ptr<platform::Device> device_;
  platform::TimeMarkId from_;
  platform::TimeMarkId to_;
};

}  // namespace dlo::benchmarks
