#include "telemetry/process_resources.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <mutex>

#include "base/bytes.h"
#include "base/codes.h"

namespace dlo::telemetry {

namespace {

using platform::Path;
using Names = std::vector<std::string>;

constexpr std::uint64_t kProcBytesMax = 16 * kMiB;
constexpr int kFolderDepthMax = 16;
constexpr Nanoseconds kSettlePoll = 5 * kMillisecond;
// Arenas of malloc, cached thread stacks and buffers above malloc's mapping threshold: up to a
// dozen were seen to come and go between equal runs of libtorch and Open MPI.
constexpr std::uint64_t kMappingSlack = 32;

constexpr std::string_view kEventDescriptor = "anon_inode:[eventfd]";

constexpr std::array<ResourceRow, 11> kRows{{
    {"descriptors", &ProcessResources::descriptors, 0, &ProcessResources::descriptor_names},
    {"event_descriptors", &ProcessResources::event_descriptors},
    {"threads", &ProcessResources::threads, 0, &ProcessResources::thread_names},
    {"file_mappings", &ProcessResources::file_mappings},
    {"other_mappings", &ProcessResources::other_mappings, kMappingSlack},
    {"locked_bytes", &ProcessResources::locked_bytes},
    {"temporary_files", &ProcessResources::temporary_files},
    {"device_buffers", &ProcessResources::device_buffers},
    {"device_bytes", &ProcessResources::device_bytes},
    {"pinned_bytes", &ProcessResources::pinned_bytes},
    {"pageable_bytes", &ProcessResources::pageable_bytes},
}};

constexpr std::size_t kNamesShown = 5;

// A GPU's driver opens its device nodes and starts its threads lazily, at the first use of whatever
// needs them, and keeps them for the life of the process: they say when that first use was, not
// that a run has kept something. What a run holds of a device is in the device's books.
bool belongs_to_driver(std::string_view link_target) {
  return link_target.starts_with("/dev/nvidia") || link_target.starts_with("/dev/dri/");
}

// "cuda-EvtHandlr", "cuda00001400006".
bool is_thread_of_driver(std::string_view name) {
  return name.starts_with("cuda");
}

// Names are whatever somebody chose; reports are text.
std::string printable(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char letter) { return letter < ' ' || letter > '~'; }, '?');
  return name;
}

// The name of each entry of `folder`, as `name_of(path)` says it, but those that `left_out` knows.
// An entry that has gone since it was listed is held by nobody: the listing's own descriptor is
// one.
template <typename NameOf, typename LeftOut>
Result<Names> names_in(const platform::FileSystem& files, const Path& folder, const NameOf& name_of,
                       const LeftOut& left_out) {
  const auto entries = files.list(folder);
  if (!entries.ok()) {
    return entries.refusal();
  }
  Names names;
  for (const auto& entry : *entries) {
    const Result<std::string> name = name_of(folder / entry);
    if (name.ok() ? !left_out(*name) : name.refusal().code != codes::kFileNotFound) {
      names.push_back(printable(name.ok() ? *name : "?"));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<Names> names_of_descriptors(const platform::FileSystem& files) {
  const auto target = [&files](const Path& path) -> Result<std::string> {
    const auto link = files.read_link(path);
    return link.ok() ? Result<std::string>(link->string()) : link.refusal();
  };
  return names_in(files, "/proc/self/fd", target, belongs_to_driver);
}

Result<Names> names_of_threads(const platform::FileSystem& files) {
  const auto name = [&files](const Path& path) {
    auto text = files.read_text(path / "comm", kProcBytesMax);
    if (text.ok() && text->ends_with('\n')) {
      text->pop_back();
    }
    return text;
  };
  return names_in(files, "/proc/self/task", name, is_thread_of_driver);
}

template <typename Visit>
void each_line(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// Words of a line of /proc/self/maps: range, permissions, offset, device, inode, path.
bool has_inode(std::string_view line) {
  for (int word = 0; word < 4; ++word) {
    const auto space = line.find(' ');
    if (space == std::string_view::npos) {
      return false;
    }
    line.remove_prefix(space + 1);
  }
  return !line.empty() && line.front() != '0';
}

void count_mappings(std::string_view maps, ProcessResources& counted) {
  each_line(maps, [&counted](std::string_view line) {
    ++(has_inode(line) ? counted.file_mappings : counted.other_mappings);
  });
}

void read_locked(std::string_view status, ProcessResources& counted) {
  each_line(status, [&counted](std::string_view line) {
    if (!line.starts_with("VmLck:")) {
      return;
    }
    line.remove_prefix(std::min(line.find_first_of("0123456789"), line.size()));
    std::uint64_t kib = 0;
    std::from_chars(line.data(), line.data() + line.size(), kib);
    counted.locked_bytes = kib * kKiB;
  });
}

// ": a, b and 3 more", or nothing.
std::string listed(const Names& names) {
  const auto shown = std::min(names.size(), kNamesShown);
  const auto end = names.begin() + static_cast<std::ptrdiff_t>(shown);
  std::string text = names.empty() ? "" : fmt::format(": {}", fmt::join(names.begin(), end, ", "));
  if (shown < names.size()) {
    text += fmt::format(" and {} more", names.size() - shown);
  }
  return text;
}

// Files that vanish while the folder is walked are no error: nobody holds them any more.
std::uint64_t files_below(const platform::FileSystem& files, const Path& folder, int depth) {
  const auto names = files.list(folder);
  if (!names.ok() || depth > kFolderDepthMax) {
    return 0;
  }
  std::uint64_t count = 0;
  for (const auto& name : *names) {
    const auto info = files.stat(folder / name);
    const bool is_folder = info.ok() && info->kind == platform::FileKind::kDirectory;
    count += is_folder ? files_below(files, folder / name, depth + 1) : 1;
  }
  return count;
}

}  // namespace

std::span<const ResourceRow> resource_rows() {
  return kRows;
}

Result<ProcessResources> count_resources(const platform::FileSystem& files,
                                         const std::vector<Path>& temporary_folders) {
  // Two counts at once would see each other's descriptor.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  ProcessResources counted;
  auto descriptors = names_of_descriptors(files);
  auto threads = names_of_threads(files);
  for (const auto* names : {&descriptors, &threads}) {
    if (!names->ok()) {
      return names->refusal();
    }
  }
  counted.descriptor_names = std::move(descriptors).value();
  counted.thread_names = std::move(threads).value();
  counted.event_descriptors = std::erase(counted.descriptor_names, kEventDescriptor);
  counted.descriptors = counted.descriptor_names.size();
  counted.threads = counted.thread_names.size();
  const auto maps = files.read_text("/proc/self/maps", kProcBytesMax);
  const auto status = files.read_text("/proc/self/status", kProcBytesMax);
  for (const auto* text : {&maps, &status}) {
    if (!text->ok()) {
      return text->refusal();
    }
  }
  count_mappings(*maps, counted);
  read_locked(*status, counted);
  for (const Path& folder : temporary_folders) {
    counted.temporary_files += files_below(files, folder, 0);
  }
  return counted;
}

void add_resources(const ProcessResources& more, ProcessResources& resources) {
  for (const auto& row : kRows) {
    resources.*row.figure += more.*row.figure;
    if (row.names != nullptr) {
      auto& names = resources.*row.names;
      const auto& added = more.*row.names;
      names.insert(names.end(), added.begin(), added.end());
      std::sort(names.begin(), names.end());
    }
  }
}

void add_device_books(const platform::Device& device, ProcessResources& resources) {
  const auto device_memory = device.device_memory();
  const auto pinned = device.pinned_memory();
  const auto pageable = device.pageable_memory();
  resources.device_buffers += device_memory.now_count + pinned.now_count + pageable.now_count;
  resources.device_bytes += device_memory.now_bytes;
  resources.pinned_bytes += pinned.now_bytes;
  resources.pageable_bytes += pageable.now_bytes;
}

Names new_names(const ResourceRow& row, const ProcessResources& before,
                const ProcessResources& after) {
  Names found;
  if (row.names != nullptr && after.*row.figure > before.*row.figure) {
    const auto& was = before.*row.names;
    const auto& is = after.*row.names;
    std::set_difference(is.begin(), is.end(), was.begin(), was.end(), std::back_inserter(found));
  }
  return found;
}

std::vector<std::string> grown_resources(const ProcessResources& before,
                                         const ProcessResources& after) {
  std::vector<std::string> lines;
  for (const auto& row : kRows) {
    const auto was = before.*row.figure;
    const auto is = after.*row.figure;
    if (is > was + row.slack) {
      lines.push_back(fmt::format("{}: {} before, {} after{}", row.name, was, is,
                                  listed(new_names(row, before, after))));
    }
  }
  return lines;
}

Result<ProcessResources> count_settled(const platform::FileSystem& files,
                                       const std::vector<Path>& temporary_folders,
                                       const ProcessResources& before, platform::Clock& clock,
                                       Nanoseconds timeout) {
  const Deadline deadline = Deadline::after(clock.now(), timeout);
  auto after = count_resources(files, temporary_folders);
  while (after.ok() && !grown_resources(before, *after).empty() && !deadline.expired(clock.now())) {
    clock.sleep(kSettlePoll);
    after = count_resources(files, temporary_folders);
  }
  return after;
}

}  // namespace dlo::telemetry
