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
  values.batch_ = reinterpret_cast<BatchFunction>(driver_function("cuStreamBatchMemOp"));
  values.range_ = reinterpret_cast<RangeFunction>(driver_function("cuMemGetAddressRange"));
  if (values.batch_ == nullptr || values.range_ == nullptr) {
    return refuse(codes::kCudaFailed, "the driver has no stream memory operations",
                  "copy-engine gather", "use platform.gather nccl, or a newer driver");
  }
  return values;
}

void ValueBatch::write(CUdeviceptr address, std::uint32_t value) {
  CUstreamBatchMemOpParams operation{};
  operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operation.writeValue.address = address;
  operation.writeValue.value = value;
  operation.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
  operations_.push_back(operation);
}

void ValueBatch::wait(CUdeviceptr address, std::uint32_t value) {
  CUstreamBatchMemOpParams operation{};
  operation.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  operation.waitValue.address = address;
  operation.waitValue.value = value;
  operation.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
  operations_.push_back(operation);
}

void StreamValues::enqueue(cudaStream_t stream, ValueBatch& batch) const {
  if (batch.operations_.empty()) {
    return;
  }
  const auto status = batch_(stream, static_cast<unsigned int>(batch.operations_.size()),
                             batch.operations_.data(), 0);
  batch.operations_.clear();
  check(status, "writing and waiting for stream values");
}

CUdeviceptr StreamValues::allocation_start(const void* pointer) const {
  CUdeviceptr start = 0;
  std::size_t bytes = 0;
  check(range_(&start, &bytes, reinterpret_cast<CUdeviceptr>(pointer)), "looking up an allocation");
  return start;
}

}  // namespace dlo::comm
