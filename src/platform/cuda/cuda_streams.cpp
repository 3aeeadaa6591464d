#include "platform/cuda/cuda_streams.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "platform/cuda/cuda_error.h"

namespace dlo::platform {

namespace {

constexpr std::chrono::microseconds kPollSleep{50};

}  // namespace

CudaStreams::CudaStreams(Nanoseconds idle_timeout) : idle_timeout_(idle_timeout) {
  int least = 0;
  int greatest = 0;
  check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "no stream priorities");
  for (const auto kind : kAllStreams) {
    const int priority = kind == StreamKind::kCompute ? least : greatest;
    check_cuda(cudaStreamCreateWithPriority(&streams_[static_cast<std::size_t>(kind)],
                                            cudaStreamNonBlocking, priority),
               "cannot create a stream");
  }
}

CudaStreams::~CudaStreams() {
  for (cudaStream_t stream : streams_) {
    static_cast<void>(cudaStreamDestroy(stream));
  }
  static_cast<void>(cudaGetLastError());
}

bool CudaStreams::idle() const noexcept {
  return std::none_of(streams_.begin(), streams_.end(), [](cudaStream_t stream) {
    return cudaStreamQuery(stream) == cudaErrorNotReady;
  });
}

bool CudaStreams::wait_idle() noexcept {
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(idle_timeout_);
  while (!idle()) {
    if (stuck_.load() || std::chrono::steady_clock::now() >= end) {
      stuck_.store(true);
      return false;
    }
    std::this_thread::sleep_for(kPollSleep);
  }
  return true;
}

}  // namespace dlo::platform
