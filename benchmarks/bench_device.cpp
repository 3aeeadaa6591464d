#include "benchmarks/bench_device.h"

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "platform/cpu/cpu_device.h"
#ifdef DLO_WITH_CUDA
#include "platform/cuda/cuda_device.h"
#include "platform/cuda/cuda_inventory.h"
#endif

namespace dlo::benchmarks {

namespace {

constexpr Nanoseconds kDeadline = 60 * kSecond;

bool wants_cpu(Where where) {
  const char* name = std::getenv("DLO_BENCHMARK_DEVICE");  // before any thread exists
  return where == Where::kCpu || (name != nullptr && std::string_view(name) == "cpu");
}

std::unique_ptr<platform::Device> make_device(Where where, platform::Clock& clock,
                                              FailureSignal& signal) {
#ifdef DLO_WITH_CUDA
  if (!wants_cpu(where) && platform::cuda_device_count() > 0) {
    return platform::make_cuda_device({}, clock, signal);
  }
#endif
  static_cast<void>(wants_cpu(where));
  return platform::make_cpu_device({}, clock, signal);
}

}  // namespace

BenchDevice::BenchDevice(Where where)
    : signal_(make_local_failure_signal()), device_(make_device(where, clock_, *signal_)) {
  from_ = device_->create_time_mark();
  to_ = device_->create_time_mark();
}

std::unique_ptr<platform::DeviceBuffer> BenchDevice::device_buffer(std::uint64_t bytes) {
  return device_->allocate_device(bytes, platform::MemoryPurpose::kOther).value();
}

std::unique_ptr<platform::HostBuffer> BenchDevice::host_buffer(std::uint64_t bytes, bool pinned) {
  auto buffer = pinned ? device_->allocate_pinned(bytes, platform::MemoryPurpose::kOther)
                       : device_->allocate_pageable(bytes, platform::MemoryPurpose::kOther);
  std::memset(buffer.value()->span().data(), 0x5A, bytes);
  return std::move(buffer).value();
}

void BenchDevice::finish() {
  const auto status = device_->synchronize(Deadline::after(clock_.now(), kDeadline));
  if (!status.ok()) {
    throw RunError(status.refusal());
  }
}

}  // namespace dlo::benchmarks
