// Owns: what NVIDIA's management library tells about one GPU: memory in use, the NVLink payload
// counter, energy and the limit of its power. The library is loaded at run time.
// Must not own: the books of what we allocated (platform::Device), CUDA ordinals: a GPU is named by
// its PCI bus id, which the platform knows.
// Threading: any thread, at set-up and between measured forwards; a call takes up to milliseconds.
// Failure: a machine without the library refuses library_missing, a figure that NVML does not give
// nvml_failed with its reason; the report then leaves the figure out and says why.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace dlo::telemetry {

struct NvmlFunctions;  // nvml.cpp

class NvmlDevice {
 public:
  // Device memory in use by every process, without what the driver reserves. Codes: nvml_failed.
  [[nodiscard]] Result<std::uint64_t> used_bytes() const;
  // Payload received over all NVLinks of the GPU since its driver was loaded, counted in KiB: the
  // difference of two readings is what a run moved. Same codes.
  [[nodiscard]] Result<std::uint64_t> nvlink_received_bytes() const;
  // Energy that the GPU has taken since its driver was loaded, in millijoules. Same codes.
  [[nodiscard]] Result<std::uint64_t> energy_mj() const;
  // What its power is held to, in milliwatts: past it the clocks go down. Same codes.
  [[nodiscard]] Result<std::uint64_t> power_limit_mw() const;

 private:
  friend class Nvml;
  NvmlDevice(const NvmlFunctions& functions, void* device, std::string bus_id);

  const NvmlFunctions* functions_;
  void* device_;
  std::string bus_id_;
};

class Nvml {
 public:
  // Loads and initialises once a process and keeps it: each start of NVML opens an event descriptor
  // that its shutdown leaves open (seen with driver 580). Codes: library_missing, nvml_failed.
  [[nodiscard]] static Result<Nvml> load(const std::string& library = "libnvidia-ml.so.1");

  // `pci_bus_id` as CUDA writes it: "0000:17:00.0". Codes: accelerator_missing.
  [[nodiscard]] Result<NvmlDevice> device(const std::string& pci_bus_id) const;

 private:
  explicit Nvml(const NvmlFunctions& functions) : functions_(&functions) {}

  const NvmlFunctions* functions_;
};

}  // namespace dlo::telemetry
