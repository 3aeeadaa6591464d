// Owns: StreamValues, the two operations by which streams of different processes wait for each
// other without a host between them: write a 32-bit value when the stream gets there, hold the
// stream until a value has been reached. Driver functions, looked up at run time. ValueBatch: some
// of them for one call, which costs the host no more than one of them does.
// Must not own: the memory of the values, protocols. Threading: launching thread of the streams.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "base/result.h"

namespace dlo::comm {

class ValueBatch {
 public:
  // Adding up to `capacity` operations allocates nothing.
  explicit ValueBatch(std::size_t capacity) { operations_.reserve(capacity); }

  // `value` at `address`, a device address, behind everything before it on the stream, visible to
  // other devices.
  void write(CUdeviceptr address, std::uint32_t value);
  // What follows on the stream waits until the value at `address` is `value` or, cyclically, above.
  void wait(CUdeviceptr address, std::uint32_t value);

 private:
  friend class StreamValues;
  std::vector<CUstreamBatchMemOpParams> operations_;
};

class StreamValues {
 public:
  // Codes: cuda_failed (a driver without these functions).
  [[nodiscard]] static Result<StreamValues> load();

  // Enqueues the operations of `batch` in their order and empties it; an empty one does nothing.
  // Throws RunError cuda_failed.
  void enqueue(cudaStream_t stream, ValueBatch& batch) const;

  // Start of the allocation that holds `pointer`. Throws RunError cuda_failed.
  [[nodiscard]] CUdeviceptr allocation_start(const void* pointer) const;

 private:
  using BatchFunction = CUresult (*)(CUstream, unsigned int, CUstreamBatchMemOpParams*,
                                     unsigned int);
  using RangeFunction = CUresult (*)(CUdeviceptr*, std::size_t*, CUdeviceptr);

  StreamValues() = default;

  BatchFunction batch_ = nullptr;
  RangeFunction range_ = nullptr;
};

}  // namespace dlo::comm
