// Owns: DeviceCounters, what the accelerator and torch's allocator tell of themselves beside our
// own books; reading the accelerator's, and adding up what turns of forwards moved.
// Must not own: when that is done (worker, throughput_run). Threading: any thread; a reading takes
// up to milliseconds. Failure: what nobody tells is absent, and the reason says why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "platform/clock.h"
#include "telemetry/nvml.h"

namespace dlo::engine {

struct DeviceCounters {
  std::optional<std::uint64_t> nvlink_received_bytes;  // since some start
  std::optional<std::uint64_t> energy_mj;              // likewise
  std::optional<std::uint64_t> energy_ns;              // when that was read, by `clock`
  std::optional<std::uint64_t> power_limit_mw;
  std::optional<std::uint64_t> used_bytes;            // of the device, all processes
  std::optional<std::uint64_t> allocator_peak_bytes;  // torch's: activations
  // Why one of the accelerator's is absent; empty where none is, or where there is no accelerator.
  std::string absent_reason;
};

// What NVML tells of `device`, or why it tells nothing.
[[nodiscard]] DeviceCounters read_counters(const Result<telemetry::NvmlDevice>& device,
                                           platform::Clock& clock);

// `sum` begins with 0 NVLink bytes, energy and its time, all present, and gets what they grew by
// between `before` and `after` of one turn. A missing reading, or one that went backwards, leaves
// the figure absent for good: a sum that lacks a turn is a wrong number. The rest is the largest
// reading, reasons the first one.
[[nodiscard]] DeviceCounters accumulate(const DeviceCounters& sum, const DeviceCounters& before,
                                        const DeviceCounters& after);

}  // namespace dlo::engine
