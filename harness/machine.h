// Owns: MachineFacts, what this machine has and what limits it, read from /proc and /sys through
// the FileSystem seam.
// Must not own: judgement (doctor.h). A fact that the machine does not tell stays empty; nothing
// here fails. Page-cache pages of mapped files are not counted as memory that is needed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "platform/file_system.h"

namespace dlo::harness {

struct MachineFacts {
  std::string host;
  std::optional<int> cores;                             // that this process may run on
  std::optional<double> cpu_quota;                      // cores that the cgroup grants
  std::optional<std::uint64_t> memory_total_bytes;      // MemTotal
  std::optional<std::uint64_t> memory_available_bytes;  // MemAvailable
  std::optional<std::uint64_t> cgroup_limit_bytes;      // smallest memory limit on the way up
  std::optional<std::uint64_t> cgroup_used_bytes;       // in the cgroup with that limit
  std::optional<std::uint64_t> memlock_bytes;           // RLIMIT_MEMLOCK, soft; empty: unlimited
  bool memlock_known = false;
  bool has_nvidia_driver = false;
  std::optional<std::uint64_t> disk_free_bytes;  // of the working directory
};

[[nodiscard]] MachineFacts read_machine(const platform::FileSystem& files);

// What a run may still take: the smaller of MemAvailable and what the cgroup leaves.
[[nodiscard]] std::optional<std::uint64_t> usable_memory_bytes(const MachineFacts& facts);

// "unknown" where the machine does not tell.
[[nodiscard]] std::string host_name(const platform::FileSystem& files);

}  // namespace dlo::harness
