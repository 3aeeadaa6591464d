// Owns: SmapsRollup, this process's memory as /proc/self/smaps_rollup tells it.
// Must not own: the books of what we allocated (platform::Device), limits, reports.
// Where memory shows: pinned memory in pss_shmem_bytes and private_dirty_bytes, ordinary memory in
// pss_anon_bytes, mapped files in pss_file_bytes and shared_clean_bytes.
// Failure: a kernel without the file is a refusal; one that lacks a line leaves that figure empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "platform/file_system.h"

namespace dlo::telemetry {

// Bytes. Absent: the kernel does not tell (Pss_* need Linux 5.4).
struct SmapsRollup {
  std::optional<std::uint64_t> rss_bytes;
  std::optional<std::uint64_t> pss_bytes;
  std::optional<std::uint64_t> private_dirty_bytes;
  std::optional<std::uint64_t> shared_clean_bytes;
  std::optional<std::uint64_t> pss_anon_bytes;
  std::optional<std::uint64_t> pss_file_bytes;
  std::optional<std::uint64_t> pss_shmem_bytes;

  friend bool operator==(const SmapsRollup&, const SmapsRollup&) = default;
};

// Reads the lines "Name:  123 kB" of `text`; other lines are skipped, a value that is no number of
// kB leaves its figure absent.
[[nodiscard]] SmapsRollup parse_smaps_rollup(std::string_view text);

// The rollup of the calling process. Walks the page tables: milliseconds for gigabytes, hence never
// on the hot path. Codes: those of FileSystem::read_text.
[[nodiscard]] Result<SmapsRollup> read_smaps_rollup(const platform::FileSystem& files);

}  // namespace dlo::telemetry
