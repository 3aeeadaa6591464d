#include "platform/cuda/cuda_error.h"

#include <fmt/format.h>

#include "base/codes.h"

namespace dlo::platform {

CudaError::CudaError(const std::string& text, cudaError_t status, std::source_location site)
    : NumberedError(codes::kCudaFailed, text + ": " + cudaGetErrorString(status),
                    static_cast<std::int64_t>(status), cudaGetErrorName(status), site) {}

void check_cuda(cudaError_t status, const std::string& text, std::source_location site) {
  if (status != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    throw CudaError(text, status, site);
  }
}

std::string cuda_error_text(cudaError_t status) {
  static_cast<void>(cudaGetLastError());
  return fmt::format("{} ({}): {}", cudaGetErrorName(status), static_cast<int>(status),
                     cudaGetErrorString(status));
}

}  // namespace dlo::platform
