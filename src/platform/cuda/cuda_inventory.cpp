#include "platform/cuda/cuda_inventory.h"

#include <fmt/format.h>

#include <array>

#include "base/codes.h"
#include "platform/cuda/cuda_error.h"

namespace dlo::platform {

int cuda_device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return 0;
  }
  return count;
}

Result<CudaDeviceFacts> cuda_device_facts(int ordinal) {
  if (ordinal < 0 || ordinal >= cuda_device_count()) {
    return refuse(codes::kAcceleratorMissing, fmt::format("there is no CUDA device {}", ordinal),
                  "this node", "see dlo doctor for the devices there are");
  }
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, ordinal), "cannot read the device's properties");
  std::array<char, 32> bus_id{};
  check_cuda(cudaDeviceGetPCIBusId(bus_id.data(), static_cast<int>(bus_id.size()), ordinal),
             "cannot read the device's bus id");
  return CudaDeviceFacts{properties.name, bus_id.data(), properties.totalGlobalMem,
                         properties.multiProcessorCount};
}

std::string cuda_versions_text() {
  int runtime = 0;
  int driver = 0;
  if (cudaRuntimeGetVersion(&runtime) != cudaSuccess ||
      cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    static_cast<void>(cudaGetLastError());
    return "";
  }
  return fmt::format("CUDA {}.{}, driver {}.{}", runtime / 1000, runtime % 1000 / 10, driver / 1000,
                     driver % 1000 / 10);
}

Result<int> choose_cuda_device(int local_rank, int local_size, int device_count, bool share) {
  if (device_count == 0) {
    return refuse(codes::kAcceleratorMissing, "no CUDA device can be used", "this node",
                  "run on a machine with an NVIDIA GPU and its driver, or use platform.device cpu");
  }
  if (local_size > device_count && !share) {
    return refuse(
        codes::kAcceleratorMissing,
        fmt::format("{} ranks run on a node with {} CUDA devices", local_size, device_count),
        "this node", "start fewer ranks, or set platform.share_devices");
  }
  return local_rank % device_count;
}

}  // namespace dlo::platform
