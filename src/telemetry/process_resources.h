// Owns: ProcessResources, what this process holds that a run must give back: descriptors, threads,
// mappings, locked memory, temporary files, and what the device's books still list; and the
// comparison of two counts. Must not own: verdicts on a run (harness), or limits.
// A count is of the whole process: ranks that share one are counted together, while all of them
// rest. What a GPU's driver opens at its first use and keeps for the life of the process is
// nobody's to give back and is left out: descriptors of its device nodes, threads under its own
// name. Threading: any thread; one count at a time, because counting opens a descriptor. Failure: a
// kernel without /proc is a refusal.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/clock.h"
#include "platform/device.h"
#include "platform/file_system.h"

namespace dlo::telemetry {

struct ProcessResources {
  std::uint64_t descriptors = 0;        // /proc/self/fd, but for the next row's
  std::uint64_t event_descriptors = 0;  // eventfds: of drivers and event loops, never ours
  std::uint64_t threads = 0;            // /proc/self/task
  std::uint64_t file_mappings = 0;    // /proc/self/maps with an inode: files, shared memory, memfd
  std::uint64_t other_mappings = 0;   // the rest: heaps, stacks, anonymous memory
  std::uint64_t locked_bytes = 0;     // VmLck
  std::uint64_t temporary_files = 0;  // below the folders that were named
  // From the books of the rank's device, when its owner let go of it.
  std::uint64_t device_buffers = 0;
  std::uint64_t device_bytes = 0;
  std::uint64_t pinned_bytes = 0;
  std::uint64_t pageable_bytes = 0;
  // What descriptors and threads count, one by one and sorted, so that a leak's line can name it:
  // "/out/a", "socket:[17]", "/memfd:dlo (deleted)"; "dlo", "dlo-mpi".
  std::vector<std::string> descriptor_names = {};
  std::vector<std::string> thread_names = {};

  friend bool operator==(const ProcessResources&, const ProcessResources&) = default;
};

struct ResourceRow {
  std::string_view name;
  std::uint64_t ProcessResources::*figure;
  // Growth up to this is no leak: what the C library and libtorch keep and give back as they like.
  std::uint64_t slack = 0;
  // Null where things have no names.
  std::vector<std::string> ProcessResources::*names = nullptr;
};

// Every figure, in the order of the struct.
[[nodiscard]] std::span<const ResourceRow> resource_rows();

// Counts now; the device's part stays 0. `temporary_folders` are walked; a missing one has no
// files. Codes: those of FileSystem.
[[nodiscard]] Result<ProcessResources> count_resources(
    const platform::FileSystem& files, const std::vector<platform::Path>& temporary_folders);

// Adds every figure of `more`, and its names.
void add_resources(const ProcessResources& more, ProcessResources& resources);

// Enters what `device` still lists.
void add_device_books(const platform::Device& device, ProcessResources& resources);

// What `after` has more often than `before`, of a figure that has grown; empty where nobody knows.
[[nodiscard]] std::vector<std::string> new_names(const ResourceRow& row,
                                                 const ProcessResources& before,
                                                 const ProcessResources& after);

// One line for each figure above its slack, "descriptors: 12 before, 13 after: /out/a", with the
// first few of the new names; empty: nothing has leaked.
[[nodiscard]] std::vector<std::string> grown_resources(const ProcessResources& before,
                                                       const ProcessResources& after);

// Counts until nothing has grown against `before`, for `timeout` at most: a thread that was joined
// takes a moment to leave the kernel's list.
inline constexpr Nanoseconds kSettleTimeout = kSecond;
[[nodiscard]] Result<ProcessResources> count_settled(
    const platform::FileSystem& files, const std::vector<platform::Path>& temporary_folders,
    const ProcessResources& before, platform::Clock& clock, Nanoseconds timeout = kSettleTimeout);

}  // namespace dlo::telemetry
