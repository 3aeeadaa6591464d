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

}  // namespace

DeviceCounters read_counters(const Result<telemetry::NvmlDevice>& device) {
  DeviceCounters counters;
  if (!device.ok()) {
    counters.absent_reason = device.refusal().message();
    return counters;
  }
  read(device->nvlink_received_bytes(), counters.nvlink_received_bytes, counters.absent_reason);
  read(device->used_bytes(), counters.used_bytes, counters.absent_reason);
  return counters;
}

DeviceCounters accumulate(const DeviceCounters& sum, const DeviceCounters& before,
                          const DeviceCounters& after) {
  DeviceCounters total;
  const auto& from = before.nvlink_received_bytes;
  const auto& to = after.nvlink_received_bytes;
  if (sum.nvlink_received_bytes && from && to && *to >= *from) {
    total.nvlink_received_bytes = *sum.nvlink_received_bytes + *to - *from;
  }
  // An absent one is below every reading.
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
