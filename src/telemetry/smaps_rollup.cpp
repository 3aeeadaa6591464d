#include "telemetry/smaps_rollup.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "base/bytes.h"

namespace dlo::telemetry {

namespace {

constexpr std::string_view kRollupPath = "/proc/self/smaps_rollup";
// A rollup is some twenty lines of thirty characters.
constexpr std::uint64_t kRollupBytesMax = 64 * kKiB;

struct Line {
  std::string_view name;
  std::optional<std::uint64_t> SmapsRollup::*figure;
};

constexpr Line kLines[] = {
    {"Rss", &SmapsRollup::rss_bytes},
    {"Pss", &SmapsRollup::pss_bytes},
    {"Private_Dirty", &SmapsRollup::private_dirty_bytes},
    {"Shared_Clean", &SmapsRollup::shared_clean_bytes},
    {"Pss_Anon", &SmapsRollup::pss_anon_bytes},
    {"Pss_File", &SmapsRollup::pss_file_bytes},
    {"Pss_Shmem", &SmapsRollup::pss_shmem_bytes},
};

// "   123 kB" in bytes.
std::optional<std::uint64_t> bytes_of(std::string_view value) {
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  std::uint64_t kib = 0;
  const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), kib);
  const std::string_view unit(stop, static_cast<std::size_t>(value.data() + value.size() - stop));
  return error == std::errc() && unit == " kB" ? checked_multiply(kib, kKiB) : std::nullopt;
}

}  // namespace

SmapsRollup parse_smaps_rollup(std::string_view text) {
  SmapsRollup rollup;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) {
      continue;
    }
    for (const auto& known : kLines) {
      if (line.substr(0, colon) == known.name) {
        rollup.*known.figure = bytes_of(line.substr(colon + 1));
      }
    }
  }
  return rollup;
}

Result<SmapsRollup> read_smaps_rollup(const platform::FileSystem& files) {
  const auto text = files.read_text(kRollupPath, kRollupBytesMax);
  if (!text) {
    return text.refusal();
  }
  return parse_smaps_rollup(*text);
}

}  // namespace dlo::telemetry
