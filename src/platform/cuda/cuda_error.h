// Owns: CudaError and the check that turns a CUDA runtime status into it: text, number, symbolic
// name, call site; the pending last error is drained so that the next call does not report it
// again. Must not own: recovery. Expected refusals (out of memory, cannot pin) are taken by
// cuda_device before this throws.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "base/error.h"

namespace dlo::platform {

class CudaError : public NumberedError {
 public:
  CudaError(const std::string& text, cudaError_t status,
            std::source_location site = std::source_location::current());
};

// Throws CudaError unless `status` is success; `text` says what was tried.
void check_cuda(cudaError_t status, const std::string& text,
                std::source_location site = std::source_location::current());

// "cudaErrorMemoryAllocation (2): out of memory"; drains the pending last error.
[[nodiscard]] std::string cuda_error_text(cudaError_t status);

}  // namespace dlo::platform
