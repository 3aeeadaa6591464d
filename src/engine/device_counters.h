// Owns: DeviceCounters, what the accelerator and torch's allocator tell of themselves beside our
// own books. Must not own: how they are read (rank_platform, worker). A plain value; what nobody
// tells is absent.
#pragma once

#include <cstdint>
#include <optional>

namespace dlo::engine {

struct DeviceCounters {
  std::optional<std::uint64_t> nvlink_received_bytes;  // since some start
  std::optional<std::uint64_t> used_bytes;             // of the device, all processes
  std::optional<std::uint64_t> allocator_peak_bytes;   // torch's: activations
};

}  // namespace dlo::engine
