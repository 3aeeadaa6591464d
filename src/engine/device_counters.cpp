#include "engine/device_counters.h"

#include <algorithm>

namespace dlo::engine {

namespace {

void read(const Result<std::uint64_t>& reading, std::optional<std::uint64_t>& figure,
          std::string& absent_reason) {
  if (reading.ok()) {
    figure = *reading;
    return;
  }
  absent_reason += (absent_reason.empty() ? "" : "; ") + reading.refusal().message();
}

// What a counter grew by is added to its sum; absent for good once anything is missing.
std::optional<std::uint64_t> grown(const DeviceCounters& sum, const DeviceCounters& before,
                                   const DeviceCounters& after,
                                   std::optional<std::uint64_t> DeviceCounters::*counter) {
  const auto& so_far = sum.*counter;
  const auto& from = before.*counter;
  const auto& to = after.*counter;
  return so_far && from && to && *to >= *from ? std::optional(*so_far + *to - *from) : std::nullopt;
}

}  // namespace

DeviceCounters read_counters(const Result<telemetry::NvmlDevice>& device, platform::Clock& clock) {
  DeviceCounters counters;
  if (!device.ok()) {
    counters.absent_reason = device.refusal().message();
    return counters;
  }
  read(device->nvlink_received_bytes(), counters.nvlink_received_bytes, counters.absent_reason);
  read(device->energy_mj(), counters.energy_mj, counters.absent_reason);
  counters.energy_ns = static_cast<std::uint64_t>(clock.now());
  read(device->power_limit_mw(), counters.power_limit_mw, counters.absent_reason);
  read(device->used_bytes(), counters.used_bytes, counters.absent_reason);
  return counters;
}

DeviceCounters accumulate(const DeviceCounters& sum, const DeviceCounters& before,
                          const DeviceCounters& after) {
  DeviceCounters total;
  total.nvlink_received_bytes = grown(sum, before, after, &DeviceCounters::nvlink_received_bytes);
  total.energy_mj = grown(sum, before, after, &DeviceCounters::energy_mj);
  total.energy_ns = grown(sum, before, after, &DeviceCounters::energy_ns);
  // An absent one is below every reading.
  total.power_limit_mw = std::max(sum.power_limit_mw, after.power_limit_mw);
  total.used_bytes = std::max(sum.used_bytes, after.used_bytes);
  total.allocator_peak_bytes = std::max(sum.allocator_peak_bytes, after.allocator_peak_bytes);
  for (const auto* counters : {&sum, &before, &after}) {
    if (total.absent_reason.empty()) {
      total.absent_reason = counters->absent_reason;
    }
  }
  return total;
}

}  // namespace dlo::engine
