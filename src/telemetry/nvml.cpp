#include "telemetry/nvml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/codes.h"
#include "platform/posix/shared_library.h"
#include "telemetry/nvml_types.h"

namespace dlo::telemetry {

using nvml_types::Device;
using nvml_types::FieldValue;
using nvml_types::kSuccess;
using nvml_types::Memory;
using nvml_types::ProcessInfo;
using nvml_types::Return;

struct NvmlFunctions {
  explicit NvmlFunctions(platform::SharedLibrary loaded) : library(std::move(loaded)) {}
  ~NvmlFunctions() {
    if (initialised) {
      static_cast<void>(shut_down());
    }
  }
  NvmlFunctions(const NvmlFunctions&) = delete;
  NvmlFunctions& operator=(const NvmlFunctions&) = delete;

  platform::SharedLibrary library;
  bool initialised = false;
  Return (*initialise)() = nullptr;
  Return (*shut_down)() = nullptr;
  const char* (*error_text)(Return) = nullptr;
  Return (*device_by_bus_id)(const char*, Device*) = nullptr;
  Return (*memory_info)(Device, Memory*) = nullptr;
  Return (*processes)(Device, std::uint32_t*, ProcessInfo*) = nullptr;
  Return (*field_values)(Device, std::int32_t, FieldValue*) = nullptr;
  Return (*pcie_generation)(Device, std::uint32_t*) = nullptr;
  Return (*pcie_width)(Device, std::uint32_t*) = nullptr;
};

namespace {

template <typename Function>
Status find(const platform::SharedLibrary& library, const char* name, Function*& out) {
  const Result<void*> address = library.address(name);
  if (!address.ok()) {
    return address.refusal();
  }
  out = reinterpret_cast<Function*>(*address);
  return {};
}

Status find_all(NvmlFunctions& out) {
  const auto& library = out.library;
  for (const Status& status :
       {find(library, "nvmlInit_v2", out.initialise), find(library, "nvmlShutdown", out.shut_down),
        find(library, "nvmlErrorString", out.error_text),
        find(library, "nvmlDeviceGetHandleByPciBusId_v2", out.device_by_bus_id),
        find(library, "nvmlDeviceGetMemoryInfo_v2", out.memory_info),
        find(library, "nvmlDeviceGetComputeRunningProcesses_v3", out.processes),
        find(library, "nvmlDeviceGetFieldValues", out.field_values),
        find(library, "nvmlDeviceGetCurrPcieLinkGeneration", out.pcie_generation),
        find(library, "nvmlDeviceGetCurrPcieLinkWidth", out.pcie_width)}) {
    if (!status.ok()) {
      return status;
    }
  }
  return {};
}

Refusal failed(const NvmlFunctions& functions, std::string_view what, Return result,
               const std::string& where, std::string_view code = codes::kNvmlFailed) {
  return refuse(code, fmt::format("{}: {} (NVML {})", what, functions.error_text(result), result),
                where, "the figure is left out");
}

}  // namespace

Nvml::Nvml(std::shared_ptr<const NvmlFunctions> functions) : functions_(std::move(functions)) {}

Result<Nvml> Nvml::load(const std::string& library) {
  auto loaded = platform::SharedLibrary::load(library);
  if (!loaded.ok()) {
    return loaded.refusal();
  }
  const auto functions = std::make_shared<NvmlFunctions>(std::move(loaded).value());
  if (const Status status = find_all(*functions); !status.ok()) {
    return status.refusal();
  }
  if (const Return result = functions->initialise(); result != kSuccess) {
    return failed(*functions, "NVML does not start", result, library);
  }
  functions->initialised = true;
  return Nvml(functions);
}

Result<NvmlDevice> Nvml::device(const std::string& pci_bus_id) const {
  Device device = nullptr;
  const Return result = functions_->device_by_bus_id(pci_bus_id.c_str(), &device);
  if (result != kSuccess) {
    return failed(*functions_, "no such GPU", result, pci_bus_id, codes::kAcceleratorMissing);
  }
  return NvmlDevice(functions_, device, pci_bus_id);
}

NvmlDevice::NvmlDevice(std::shared_ptr<const NvmlFunctions> functions, void* device,
                       std::string bus_id)
    : functions_(std::move(functions)), device_(device), bus_id_(std::move(bus_id)) {}

std::optional<std::uint64_t> NvmlDevice::process_bytes(int process_id) const {
  // Room for as many as there are, and for some that start meanwhile.
  std::uint32_t count = 0;
  Return result = functions_->processes(device_, &count, nullptr);
  if (result != kSuccess && result != nvml_types::kInsufficientSize) {
    return std::nullopt;
  }
  std::vector<ProcessInfo> processes(count + 16);
  count = static_cast<std::uint32_t>(processes.size());
  result = functions_->processes(device_, &count, processes.data());
  if (result != kSuccess) {
    return std::nullopt;
  }
  processes.resize(count);
  const auto mine =
      std::find_if(processes.begin(), processes.end(), [process_id](const ProcessInfo& process) {
        return process.pid == static_cast<std::uint32_t>(process_id) &&
               process.used_gpu_memory != nvml_types::kValueNotAvailable;
      });
  if (mine == processes.end()) {
    return std::nullopt;
  }
  return mine->used_gpu_memory;
}

Result<NvmlMemory> NvmlDevice::memory(int process_id) const {
  Memory memory;
  memory.version = nvml_types::kMemoryVersion;
  if (const Return result = functions_->memory_info(device_, &memory); result != kSuccess) {
    return failed(*functions_, "device memory", result, bus_id_);
  }
  return NvmlMemory{memory.total, memory.used, process_bytes(process_id)};
}

Result<NvLinkBytes> NvmlDevice::nvlink() const {
  std::array<FieldValue, 2> fields;
  fields[0].field_id = nvml_types::kNvLinkDataSent;
  fields[1].field_id = nvml_types::kNvLinkDataReceived;
  for (auto& field : fields) {
    field.scope_id = nvml_types::kAllLinks;
  }
  const Return result =
      functions_->field_values(device_, static_cast<std::int32_t>(fields.size()), fields.data());
  for (const Return one : {result, fields[0].result, fields[1].result}) {
    if (one != kSuccess) {
      return failed(*functions_, "NVLink counters", one, bus_id_);
    }
  }
  return NvLinkBytes{fields[0].value * kKiB, fields[1].value * kKiB};
}

Result<PcieLink> NvmlDevice::pcie() const {
  PcieLink link;
  for (const Return result : {functions_->pcie_generation(device_, &link.generation),
                              functions_->pcie_width(device_, &link.width)}) {
    if (result != kSuccess) {
      return failed(*functions_, "PCIe link", result, bus_id_);
    }
  }
  return link;
}

}  // namespace dlo::telemetry
