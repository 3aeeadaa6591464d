// Owns: the list of accelerators that runs with platform.device "cuda" can use here, for the
// doctor, for results, and for leaving out scenarios that need what is absent.
// Must not own: devices. Needs no GPU and no driver: then the list is empty.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dlo::engine {

struct Accelerator {
  int ordinal = 0;
  std::string name;    // "NVIDIA H200"
  std::string bus_id;  // as NVML wants it
  std::uint64_t memory_bytes = 0;
};

struct Accelerators {
  bool in_build = false;  // this build has the CUDA targets
  std::vector<Accelerator> devices;
  std::string versions;  // "CUDA 13.0, driver 13.0, NCCL 2.28.9"; empty without a driver
};

[[nodiscard]] Accelerators find_accelerators();

}  // namespace dlo::engine
