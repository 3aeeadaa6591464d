// Owns: the CPU platform's Device: "device memory" is budgeted host memory, each stream a real
// thread with a preallocated queue, events are real. Races here are real races, which is what TSan
// and the slow-copy decorator need.
// Must not own: schedules, weights or collectives.
// Threading: issued by one thread a device; books and failure() from any thread.
// Failure: as platform/device.h; the first failed operation is also raised on the rank's
// FailureSignal with its label. A queue that stays full past `issue_timeout` fails the device.
#pragma once

#include <limits>
#include <memory>

#include "base/failure_signal.h"
#include "platform/clock.h"
#include "platform/device.h"

namespace dlo::platform {

struct CpuDeviceOptions {
  int rank = 0;  // world rank, for failures
  std::uint64_t device_budget_bytes = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t pinned_budget_bytes = std::numeric_limits<std::uint64_t>::max();
  std::size_t queue_capacity = 2048;  // operations a stream may hold
  Nanoseconds issue_timeout = 60 * kSecond;
  // How long the destructor waits for a running operation. A thread that is still busy then is
  // left to itself together with what it uses.
  Nanoseconds join_timeout = 30 * kSecond;
};

// `clock` and `signal` outlive the device. Buffers may outlive it.
[[nodiscard]] std::unique_ptr<Device> make_cpu_device(const CpuDeviceOptions& options, Clock& clock,
                                                      FailureSignal& signal);

}  // namespace dlo::platform
