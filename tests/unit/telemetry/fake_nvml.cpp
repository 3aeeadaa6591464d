// A stand-in for libnvidia-ml.so.1, loaded by nvml_test.cpp. GPU 0000:17:00.0 has everything;
// 0000:18:00.0 has neither NVLink nor figures of power; there is no other.
// Built once more as one that has no functions for power.

#include <sys/eventfd.h>

#include <cstring>

#include "telemetry/nvml_types.h"

namespace {

using namespace dlo::telemetry::nvml_types;  // NOLINT: this file is about nothing else

constexpr Return kInvalidArgument = 2;
constexpr Return kNotSupported = 3;
constexpr Return kNotFound = 6;

int gpus[2];  // their addresses are the handles

}  // namespace

extern "C" {

// Leaves an event descriptor behind each time, as driver 580 does.
Return nvmlInit_v2() {
  return ::eventfd(0, EFD_CLOEXEC) >= 0 ? kSuccess : kNotSupported;
}

const char* nvmlErrorString(Return result) {
  return result == kNotFound ? "Not Found" : "Not Supported";
}

Return nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, Device* device) {
  const bool first = std::strcmp(bus_id, "0000:17:00.0") == 0;
  if (!first && std::strcmp(bus_id, "0000:18:00.0") != 0) {
    return kNotFound;
  }
  *device = &gpus[first ? 0 : 1];
  return kSuccess;
}

Return nvmlDeviceGetMemoryInfo_v2(Device, Memory* memory) {
  if (memory->version != kMemoryVersion) {
    return kInvalidArgument;
  }
  memory->total = 1000;
  memory->reserved = 20;
  memory->free = 680;
  memory->used = 300;
  return kSuccess;
}

Return nvmlDeviceGetFieldValues(Device device, std::int32_t count, FieldValue* fields) {
  for (std::int32_t i = 0; i < count; ++i) {
    FieldValue& field = fields[i];
    const bool known = field.field_id == 139 && field.scope_id == 0xFFFFFFFFU;
    field.result = known && device == &gpus[0] ? kSuccess : kNotSupported;
    field.value = 7;
  }
  return kSuccess;
}

#ifndef DLO_FAKE_NVML_IS_OLD
Return nvmlDeviceGetTotalEnergyConsumption(Device device, unsigned long long* energy) {
  *energy = 5'000'000'000ULL;
  return device == &gpus[0] ? kSuccess : kNotSupported;
}

Return nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned int* limit) {
  *limit = 700'000;
  return device == &gpus[0] ? kSuccess : kNotSupported;
}
#endif

}  // extern "C"
