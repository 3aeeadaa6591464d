// Owns: which CUDA devices this process can use, and what they are.
// Must not own: contexts or streams. Needs no device and no driver: then there are none.
#pragma once

#include <string>

#include "base/result.h"

namespace dlo::platform {

// 0 without a driver or a GPU; never an error.
[[nodiscard]] int cuda_device_count();

struct CudaDeviceFacts {
  std::string name;        // "NVIDIA H200"
  std::string pci_bus_id;  // "0000:1b:00.0", as NVML wants it
  std::uint64_t hbm_bytes = 0;
  int multiprocessor_count = 0;
};

// Codes: accelerator_missing.
[[nodiscard]] Result<CudaDeviceFacts> cuda_device_facts(int ordinal);

// "CUDA 13.0, driver 13.0"; empty without a driver.
[[nodiscard]] std::string cuda_versions_text();

// The device of the rank that is `local_rank` among the `local_size` ranks of its node. Several
// ranks on one device only with `share`. Codes: accelerator_missing.
[[nodiscard]] Result<int> choose_cuda_device(int local_rank, int local_size, int device_count,
                                             bool share);

}  // namespace dlo::platform
