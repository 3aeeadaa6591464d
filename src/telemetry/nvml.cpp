#include "telemetry/nvml.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/bytes.h"
#include "base/codes.h"
#include "platform/posix/shared_library.h"
#include "telemetry/nvml_types.h"

namespace dlo::telemetry {

using nvml_types::Device;
using nvml_types::FieldValue;
using nvml_types::kSuccess;
using nvml_types::Memory;
using nvml_types::Return;

struct NvmlFunctions {
  explicit NvmlFunctions(platform::SharedLibrary loaded) : library(std::move(loaded)) {}

  platform::SharedLibrary library;
  Return (*initialise)() = nullptr;
  const char* (*error_text)(Return) = nullptr;
  Return (*device_by_bus_id)(const char*, Device*) = nullptr;
  Return (*memory_info)(Device, Memory*) = nullptr;
  Return (*field_values)(Device, std::int32_t, FieldValue*) = nullptr;
  Return (*total_energy)(Device, unsigned long long*) = nullptr;
  Return (*power_limit)(Device, unsigned int*) = nullptr;
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
       {find(library, "nvmlInit_v2", out.initialise),
        find(library, "nvmlErrorString", out.error_text),
        find(library, "nvmlDeviceGetHandleByPciBusId_v2", out.device_by_bus_id),
        find(library, "nvmlDeviceGetMemoryInfo_v2", out.memory_info),
        find(library, "nvmlDeviceGetFieldValues", out.field_values)}) {
    if (!status.ok()) {
      return status;
    }
  }
  // Without these only the figures of power are missing.
  static_cast<void>(find(library, "nvmlDeviceGetTotalEnergyConsumption", out.total_energy));
  static_cast<void>(find(library, "nvmlDeviceGetEnforcedPowerLimit", out.power_limit));
  return {};
}

Refusal failed(const NvmlFunctions& functions, std::string_view what, Return result,
               const std::string& where, std::string_view code = codes::kNvmlFailed) {
  return refuse(code, fmt::format("{}: {} (NVML {})", what, functions.error_text(result), result),
                where, "the figure is left out");
}

Refusal too_old(std::string_view what, const std::string& where) {
  return refuse(codes::kNvmlFailed, fmt::format("{}: this NVML has no function for it", what),
                where, "the figure is left out");
}

Result<std::unique_ptr<const NvmlFunctions>> start(const std::string& library) {
  auto loaded = platform::SharedLibrary::load(library);
  if (!loaded.ok()) {
    return loaded.refusal();
  }
  auto functions = std::make_unique<NvmlFunctions>(std::move(loaded).value());
  if (const Status status = find_all(*functions); !status.ok()) {
    return status.refusal();
  }
  if (const Return result = functions->initialise(); result != kSuccess) {
    return failed(*functions, "NVML does not start", result, library);
  }
  return std::unique_ptr<const NvmlFunctions>(std::move(functions));
}

}  // namespace

Result<Nvml> Nvml::load(const std::string& library) {
  static std::mutex mutex;
  // Never destroyed: devices hold on to it until the process ends.
  static auto& started = *new std::map<std::string, std::unique_ptr<const NvmlFunctions>>;
  const std::lock_guard lock(mutex);
  auto& kept = started[library];
  if (kept == nullptr) {
    auto made = start(library);
    if (!made.ok()) {
      return made.refusal();
    }
    kept = std::move(made).value();
  }
  return Nvml(*kept);
}

Result<NvmlDevice> Nvml::device(const std::string& pci_bus_id) const {
  Device device = nullptr;
  const Return result = functions_->device_by_bus_id(pci_bus_id.c_str(), &device);
  if (result != kSuccess) {
    return failed(*functions_, "no such GPU", result, pci_bus_id, codes::kAcceleratorMissing);
  }
  return NvmlDevice(*functions_, device, pci_bus_id);
}

NvmlDevice::NvmlDevice(const NvmlFunctions& functions, void* device, std::string bus_id)
    : functions_(&functions), device_(device), bus_id_(std::move(bus_id)) {}

Result<std::uint64_t> NvmlDevice::used_bytes() const {
  Memory memory;
  memory.version = nvml_types::kMemoryVersion;
  if (const Return result = functions_->memory_info(device_, &memory); result != kSuccess) {
    return failed(*functions_, "device memory", result, bus_id_);
  }
  return memory.used;
}

Result<std::uint64_t> NvmlDevice::nvlink_received_bytes() const {
  FieldValue field;
  field.field_id = nvml_types::kNvLinkDataReceived;
  field.scope_id = nvml_types::kAllLinks;
  for (const Return one : {functions_->field_values(device_, 1, &field), field.result}) {
    if (one != kSuccess) {
      return failed(*functions_, "NVLink counter", one, bus_id_);
    }
  }
  return field.value * kKiB;
}

Result<std::uint64_t> NvmlDevice::energy_mj() const {
  if (functions_->total_energy == nullptr) {
    return too_old("energy", bus_id_);
  }
  unsigned long long energy = 0;
  if (const Return result = functions_->total_energy(device_, &energy); result != kSuccess) {
    return failed(*functions_, "energy", result, bus_id_);
  }
  return energy;
}

Result<std::uint64_t> NvmlDevice::power_limit_mw() const {
  if (functions_->power_limit == nullptr) {
    return too_old("power limit", bus_id_);
  }
  unsigned int limit = 0;
  if (const Return result = functions_->power_limit(device_, &limit); result != kSuccess) {
    return failed(*functions_, "power limit", result, bus_id_);
  }
  return limit;
}

}  // namespace dlo::telemetry
