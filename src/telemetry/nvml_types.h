// Owns: the few structures and numbers of NVIDIA's management library (NVML) that this product
// reads, as its public interface defines them; the versions are named. The library is loaded at run
// time and its header is on no machine that only builds.
// Must not own: functions or their use (nvml.h). Internal to telemetry and its tests.
// Source: NVML API reference; layouts of CUDA 12 and 13.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dlo::telemetry::nvml_types {

using Device = void*;         // nvmlDevice_t
using Return = std::int32_t;  // nvmlReturn_t

inline constexpr Return kSuccess = 0;

// nvmlMemory_v2_t, of nvmlDeviceGetMemoryInfo_v2. Bytes; `version` is set by the caller.
struct Memory {
  std::uint32_t version = 0;
  std::uint64_t total = 0;
  std::uint64_t reserved = 0;
  std::uint64_t free = 0;
  std::uint64_t used = 0;
};
static_assert(sizeof(Memory) == 40);
inline constexpr std::uint32_t kMemoryVersion = sizeof(Memory) | (2U << 24U);

// nvmlFieldValue_t, of nvmlDeviceGetFieldValues.
struct FieldValue {
  std::uint32_t field_id = 0;
  std::uint32_t scope_id = 0;
  std::int64_t timestamp = 0;
  std::int64_t latency_us = 0;
  std::int32_t value_type = 0;  // nvmlValueType_t
  Return result = 0;
  std::uint64_t value = 0;  // of the union: an unsigned long long
};
static_assert(sizeof(FieldValue) == 40);
static_assert(offsetof(FieldValue, value) == 32);

// NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX: KiB of payload since the driver was loaded.
inline constexpr std::uint32_t kNvLinkDataReceived = 139;
inline constexpr std::uint32_t kAllLinks = ~std::uint32_t{0};  // scope id

}  // namespace dlo::telemetry::nvml_types
