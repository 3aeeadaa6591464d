// Owns: SeamCall, the calls of the seams that can be made to fail, the codes that each has in real
// life, and the call sites that the product has: a call together with what it is for.
// Must not own: when a call fails (fault_plan.h) or how (the decorators).
// Pure. Failure: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/file_system.h"
#include "platform/op_label.h"

namespace dlo::platform {

enum class SeamCall : std::uint8_t {
  kAllocateDevice,
  kAllocatePinned,
  kAllocatePageable,
  kCreateEvent,
  kRecord,
  kWait,
  kCopyToDevice,
  kCopyToHost,
  kLaunch,
  kWaitHost,
  kSynchronize,
  kMakeControlGroup,
  kMakeCommunicator,
  kExchange,
  kGather,
  kFileStat,
  kFileList,
  kFileMap,
  kFileRead,
  kFileCreate,
  kFileWrite,
  kFileSync,
  kFileClose,
  kFileMakeDirectories,
  kFileRename,
  kFileRemove,
  kFileRemoveTree,
  kFileSyncDirectory,
  kFileFreeBytes,
  kSubmit,  // an executor refuses a batch
  kTask,    // one of its tasks throws
  kClock,   // a reading after which the clock is an hour ahead
};
inline constexpr std::size_t kSeamCallCount = static_cast<std::size_t>(SeamCall::kClock) + 1;

[[nodiscard]] std::string_view seam_call_name(SeamCall call);  // "allocate_pinned", ...

// The codes that a failing call of this kind has in real life, the most usual first.
[[nodiscard]] std::span<const std::string_view> natural_codes(SeamCall call);
[[nodiscard]] inline std::string_view natural_code(SeamCall call) {
  return natural_codes(call).front();
}

// What a call is for, without numbers: the site of a stream operation, the purpose of memory or of
// a group, the name of an exchange, the role of a file.
[[nodiscard]] std::string_view file_role(const Path& path);  // "weights", "text", "folder"

// "record ready_record", "exchange vote on enable", "file_write weights".
[[nodiscard]] std::string call_site(SeamCall call, std::string_view purpose);

// Every call site of backend, hot path, loader, checkpoint writer and engine but those of a text
// encoder's stage, which the engine's own tests loop over. A fault loop that meets a site which is
// not listed is told so, and so is one that misses a listed one.
[[nodiscard]] const std::vector<std::string>& known_call_sites();

}  // namespace dlo::platform
