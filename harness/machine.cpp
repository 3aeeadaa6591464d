#include "harness/machine.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>

#include "base/bytes.h"

namespace dlo::harness {
namespace {

constexpr std::uint64_t kProcBytesMax = 1 * kMiB;

using platform::FileSystem;
using platform::Path;

std::string read_or_empty(const FileSystem& files, const Path& path) {
  Result<std::string> text = files.read_text(path, kProcBytesMax);
  return text.ok() ? *text : std::string();
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) {
    return std::nullopt;
  }
  std::uint64_t value = 0;
  const char* first = text.data() + begin;
  const auto [end, error] = std::from_chars(first, text.data() + text.size(), value);
  return error == std::errc() && end != first ? std::optional(value) : std::nullopt;
}

// The rest of the line that starts with `key`; empty when there is none.
std::string_view line_value(std::string_view text, std::string_view key) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.starts_with(key)) {
      return line.substr(key.size());
    }
    at = end + 1;
  }
  return {};
}

// Cores in a list such as "0-3,8".
std::optional<int> count_cores(std::string_view list) {
  int count = 0;
  std::istringstream stream{std::string(list)};
  for (std::string range; std::getline(stream, range, ',');) {
    const std::size_t dash = range.find('-');
    const auto first = parse_count(range);
    const auto last =
        dash == std::string::npos ? first : parse_count(std::string_view(range).substr(dash + 1));
    if (!first || !last || *last < *first) {
      return std::nullopt;
    }
    count += static_cast<int>(*last - *first) + 1;
  }
  return count > 0 ? std::optional(count) : std::nullopt;
}

std::optional<std::uint64_t> kibibytes(std::string_view text) {
  const auto value = parse_count(text);
  return value ? checked_multiply(*value, kKiB) : std::nullopt;
}

void read_memory(const FileSystem& files, MachineFacts& facts) {
  const std::string meminfo = read_or_empty(files, "/proc/meminfo");
  facts.memory_total_bytes = kibibytes(line_value(meminfo, "MemTotal:"));
  facts.memory_available_bytes = kibibytes(line_value(meminfo, "MemAvailable:"));
}

// Path of this process in a cgroup hierarchy: v2 has an empty controller list, v1 names "memory".
std::string cgroup_path(std::string_view cgroups, std::string_view controller) {
  std::istringstream stream{std::string(cgroups)};
  for (std::string line; std::getline(stream, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool match = controller.empty()
                           ? names == ",,"
                           : names.find("," + std::string(controller) + ",") != std::string::npos;
    if (match) {
      return line.substr(second + 1);
    }
  }
  return "";
}

struct CgroupFiles {
  Path root;
  std::string_view limit;
  std::string_view used;
};

// Every level up to the root may limit; the smallest limit holds. Inside a container the path of
// /proc/self/cgroup may not exist below its own mount; the root is then this process's level.
void read_cgroup_limits(const FileSystem& files, const CgroupFiles& names, const std::string& path,
                        const MachineFacts& machine, MachineFacts& facts) {
  for (Path at = (names.root / Path(path).relative_path()).lexically_normal();;
       at = at.parent_path()) {
    const auto limit = parse_count(read_or_empty(files, at / names.limit));
    // v1 writes a number near 2^63 for "no limit"; more than the machine has limits nothing.
    const bool limits = limit && *limit < machine.memory_total_bytes.value_or(UINT64_MAX);
    if (limits && *limit < facts.cgroup_limit_bytes.value_or(UINT64_MAX)) {
      facts.cgroup_limit_bytes = limit;
      facts.cgroup_used_bytes = parse_count(read_or_empty(files, at / names.used));
    }
    if (at == names.root || !at.has_relative_path()) {
      return;
    }
  }
}

void read_cgroups(const FileSystem& files, MachineFacts& facts) {
  const std::string cgroups = read_or_empty(files, "/proc/self/cgroup");
  read_cgroup_limits(files, {"/sys/fs/cgroup", "memory.max", "memory.current"},
                     cgroup_path(cgroups, ""), facts, facts);
  read_cgroup_limits(files,
                     {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"},
                     cgroup_path(cgroups, "memory"), facts, facts);
}

// v2 only: "200000 100000" grants two cores, "max 100000" all.
void read_cpu_quota(const FileSystem& files, MachineFacts& facts) {
  const std::string text = read_or_empty(files, "/sys/fs/cgroup/cpu.max");
  const auto quota = parse_count(text);
  const std::size_t space = text.find(' ');
  const auto period =
      space == std::string::npos ? std::nullopt : parse_count(std::string_view(text).substr(space));
  if (quota && period && *period > 0) {
    facts.cpu_quota = static_cast<double>(*quota) / static_cast<double>(*period);
  }
}

void read_memlock(const FileSystem& files, MachineFacts& facts) {
  const std::string limits = read_or_empty(files, "/proc/self/limits");
  const std::string_view soft = line_value(limits, "Max locked memory");
  facts.memlock_known = !soft.empty();
  facts.memlock_bytes = parse_count(soft);
}

}  // namespace

MachineFacts read_machine(const FileSystem& files) {
  MachineFacts facts;
  facts.host = host_name(files);
  facts.cores =
      count_cores(line_value(read_or_empty(files, "/proc/self/status"), "Cpus_allowed_list:"));
  read_cpu_quota(files, facts);
  read_memory(files, facts);
  read_cgroups(files, facts);
  read_memlock(files, facts);
  facts.has_nvidia_driver = files.stat("/proc/driver/nvidia/version").ok();
  if (Result<std::uint64_t> disk = files.free_bytes("."); disk.ok()) {
    facts.disk_free_bytes = *disk;
  }
  return facts;
}

std::optional<std::uint64_t> usable_memory_bytes(const MachineFacts& facts) {
  if (!facts.cgroup_limit_bytes.has_value()) {
    return facts.memory_available_bytes;
  }
  const std::uint64_t used =
      std::min(facts.cgroup_used_bytes.value_or(0), *facts.cgroup_limit_bytes);
  const std::uint64_t left = *facts.cgroup_limit_bytes - used;
  return std::min(left, facts.memory_available_bytes.value_or(left));
}

std::string host_name(const FileSystem& files) {
  std::string name = read_or_empty(files, "/proc/sys/kernel/hostname");
  name.erase(std::find(name.begin(), name.end(), '\n'), name.end());
  return name.empty() ? "unknown" : name;
}

}  // namespace dlo::harness
