#include "base/bytes.h"

#include <fmt/format.h>

namespace dlo {

std::string format_bytes(std::uint64_t bytes) {
  const auto scaled = [bytes](std::uint64_t unit) {
    return static_cast<double>(bytes) / static_cast<double>(unit);
  };
  if (bytes >= kGiB) {
    return fmt::format("{:.2f} GiB", scaled(kGiB));
  }
  if (bytes >= kMiB) {
    return fmt::format("{:.2f} MiB", scaled(kMiB));
  }
  if (bytes >= kKiB) {
    return fmt::format("{:.2f} KiB", scaled(kKiB));
  }
  return fmt::format("{} B", bytes);
}

}  // namespace dlo
