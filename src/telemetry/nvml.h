// Owns: what NVIDIA's management library tells about one GPU: memory of the device and of this
// process, NVLink payload counters, the PCIe link. The library is loaded at run time.
// Must not own: the books of what we allocated (platform::Device), CUDA ordinals: a GPU is named by
// its PCI bus id, which the platform knows.
// Threading: any thread, at set-up and between measured forwards; a call takes up to milliseconds.
// Failure: a machine without the library refuses library_missing, a figure that NVML does not give
// nvml_failed with its reason; the report then leaves the figure out and says why.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"

namespace dlo::telemetry {

struct NvmlMemory {
  std::uint64_t total_bytes = 0;
  std::uint64_t used_bytes = 0;  // by every process, without what the driver reserves
  // By the asked process, CUDA context included. Absent where NVML does not see it, as in a
  // container with process ids of its own.
  std::optional<std::uint64_t> process_bytes;
};

// Payload over all NVLinks of a GPU since its driver was loaded. Counted in KiB; differences of two
// readings are what a run moved.
struct NvLinkBytes {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

struct PcieLink {
  std::uint32_t generation = 0;  // at present; an idle GPU may have stepped down
  std::uint32_t width = 0;       // lanes
};

struct NvmlFunctions;  // nvml.cpp

class NvmlDevice {
 public:
  // Codes: nvml_failed.
  [[nodiscard]] Result<NvmlMemory> memory(int process_id) const;
  [[nodiscard]] Result<NvLinkBytes> nvlink() const;
  [[nodiscard]] Result<PcieLink> pcie() const;

 private:
  friend class Nvml;
  NvmlDevice(std::shared_ptr<const NvmlFunctions> functions, void* device, std::string bus_id);

  [[nodiscard]] std::optional<std::uint64_t> process_bytes(int process_id) const;

  std::shared_ptr<const NvmlFunctions> functions_;
  void* device_;
  std::string bus_id_;
};

class Nvml {
 public:
  // Loads and initialises; shut down when the last device has gone too. Codes: library_missing,
  // nvml_failed.
  [[nodiscard]] static Result<Nvml> load(const std::string& library = "libnvidia-ml.so.1");

  // `pci_bus_id` as CUDA writes it: "0000:17:00.0". Codes: accelerator_missing.
  [[nodiscard]] Result<NvmlDevice> device(const std::string& pci_bus_id) const;

 private:
  explicit Nvml(std::shared_ptr<const NvmlFunctions> functions);

  std::shared_ptr<const NvmlFunctions> functions_;
};

}  // namespace dlo::telemetry
