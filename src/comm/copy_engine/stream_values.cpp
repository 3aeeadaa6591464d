#include "comm/copy_engine/stream_values.h"

#include <fmt/format.h>

#include "base/codes.h"
#include "base/error.h"

namespace dlo::comm {

namespace {

constexpr unsigned int kDriverVersion = 12000;

// Null when the driver does not have it.
void* driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  const auto status =
      cudaGetDriverEntryPointByVersion(name, &function, kDriverVersion, cudaEnableDefault, &found);
  if (status != cudaSuccess || found != cudaDriverEntryPointSuccess) {
    static_cast<void>(cudaGetLastError());
    return nullptr;
  }
  return function;
}

void check(CUresult status, const char* what) {
  if (status != CUDA_SUCCESS) {
    throw RunError(
        refuse(codes::kCudaFailed,
               fmt::format("{} failed with driver error {}", what, static_cast<int>(status)),
               "copy-engine gather", "use platform.gather nccl"));
  }
}

}  // namespace

Result<StreamValues> StreamValues::load() {
  StreamValues values;
  values.write_ = reinterpret_cast<WriteFunction>(driver_function("cuStreamWriteValue32"));
  values.wait_ = reinterpret_cast<WriteFunction>(driver_function("cuStreamWaitValue32"));
  values.range_ = reinterpret_cast<RangeFunction>(driver_function("cuMemGetAddressRange"));
  if (values.write_ == nullptr || values.wait_ == nullptr || values.range_ == nullptr) {
    return refuse(codes::kCudaFailed, "the driver has no stream memory operations",
                  "copy-engine gather", "use platform.gather nccl, or a newer driver");
  }
  return values;
}

void StreamValues::write(cudaStream_t stream, CUdeviceptr address, std::uint32_t value) const {
  check(write_(stream, address, value, CU_STREAM_WRITE_VALUE_DEFAULT), "writing a stream value");
}

void StreamValues::wait(cudaStream_t stream, CUdeviceptr address, std::uint32_t value) const {
  check(wait_(stream, address, value, CU_STREAM_WAIT_VALUE_GEQ), "waiting for a stream value");
}

CUdeviceptr StreamValues::allocation_start(const void* pointer) const {
  CUdeviceptr start = 0;
  std::size_t bytes = 0;
  check(range_(&start, &bytes, reinterpret_cast<CUdeviceptr>(pointer)), "looking up an allocation");
  return start;
}

}  // namespace dlo::comm
