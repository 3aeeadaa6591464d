#include <ATen/Context.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>

#include "base/error.h"
#include "model/torch_accelerator.h"

namespace dlo::model {

namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

platform::MemoryUse use_of(const c10::CachingAllocator::StatArray& statistic) {
  // The first entry sums up the pools.
  const auto& total =
      statistic[static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
  return {static_cast<std::uint64_t>(total.current), static_cast<std::uint64_t>(total.peak)};
}

c10::cuda::CUDAStream as_torch_stream(const platform::NativeStream& stream) {
  require(stream.present(), "torch needs a native stream");
  at::globalContext().lazyInitDevice(at::kCUDA);  // before anything else asks the allocator
  return c10::cuda::getStreamFromExternal(static_cast<cudaStream_t>(stream.handle),
                                          static_cast<c10::DeviceIndex>(stream.ordinal));
}

class CudaAccelerator final : public TorchAccelerator {
 public:
  explicit CudaAccelerator(const platform::NativeStream& compute)
      : stream_(as_torch_stream(compute)),
        total_bytes_(allocator::get()->getMemoryInfo(stream_.device_index()).second) {}
  // The platform's stream may go before this thread uses torch again.
  ~CudaAccelerator() override {
    if (c10::cuda::getCurrentCUDAStream(stream_.device_index()) == stream_) {
      c10::cuda::setCurrentCUDAStream(c10::cuda::getDefaultCUDAStream(stream_.device_index()));
    }
  }
  CudaAccelerator(const CudaAccelerator&) = delete;
  CudaAccelerator& operator=(const CudaAccelerator&) = delete;

  void activate() override {
    c10::cuda::set_device(stream_.device_index());
    c10::cuda::setCurrentCUDAStream(stream_);
  }

  void limit_memory(std::uint64_t bytes) override {
    const double share = static_cast<double>(bytes) / static_cast<double>(total_bytes_);
    allocator::setMemoryFraction(std::min(1.0, share), stream_.device_index());
  }

  void refuse_synchronisation(bool refuse) override {
    c10::cuda::warning_state().set_sync_debug_mode(refuse ? c10::cuda::SyncDebugMode::L_ERROR
                                                          : c10::cuda::SyncDebugMode::L_DISABLED);
  }

  TorchMemory memory() const override {
    const auto statistics = allocator::getDeviceStats(stream_.device_index());
    return {use_of(statistics.allocated_bytes), use_of(statistics.reserved_bytes)};
  }

  void reset_peaks() override { allocator::resetPeakStats(stream_.device_index()); }

  void release_workspaces() override {
    at::cuda::clearCublasWorkspaces();  // one a stream and handle, kept for ever otherwise
  }

  void release_cached() override {
    release_workspaces();
    allocator::emptyCache();
  }

 private:
  c10::cuda::CUDAStream stream_;
  std::size_t total_bytes_;
};

}  // namespace

std::unique_ptr<TorchAccelerator> make_torch_accelerator(const platform::NativeStream& compute) {
  return std::make_unique<CudaAccelerator>(compute);
}

}  // namespace dlo::model
