// Owns: StreamValues, the two operations by which streams of different processes wait for each
// other without a host between them: write a 32-bit value when the stream gets there, hold the
// stream until a value has been reached. Driver functions, looked up at run time.
// Must not own: the memory of the values, protocols. Threading: launching thread of the streams.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/result.h"

namespace dlo::comm {

class StreamValues {
 public:
  // Codes: cuda_failed (a driver without these functions).
  [[nodiscard]] static Result<StreamValues> load();

  // `value` at `address`, a device address, behind everything before it on `stream`, visible to
  // other devices. Throws RunError cuda_failed.
  void write(cudaStream_t stream, CUdeviceptr address, std::uint32_t value) const;
  // What follows on `stream` waits until the value at `address` is `value` or, cyclically, above.
  void wait(cudaStream_t stream, CUdeviceptr address, std::uint32_t value) const;

  // Start of the allocation that holds `pointer`. Throws RunError cuda_failed.
  [[nodiscard]] CUdeviceptr allocation_start(const void* pointer) const;

 private:
  using WriteFunction = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned int);
  using RangeFunction = CUresult (*)(CUdeviceptr*, std::size_t*, CUdeviceptr);

  StreamValues() = default;

  WriteFunction write_ = nullptr;
  WriteFunction wait_ = nullptr;
  RangeFunction range_ = nullptr;
};

}  // namespace dlo::comm
