// Owns: the refusals of the platforms' allocators: one wording for "the budget says no" and "the
// system says no", by kind of memory.
// Must not own: ledgers or memory. Plain functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "platform/memory_ledger.h"

namespace dlo::platform {

struct MemoryKind {
  std::string_view code;
  std::string_view name;
  std::string_view action;  // what a user can do
};

// device_out_of_memory, pin_failed, host_out_of_memory.
extern const MemoryKind kDeviceMemory;
extern const MemoryKind kPinnedMemory;
extern const MemoryKind kPageableMemory;

[[nodiscard]] Refusal budget_refusal(const MemoryKind& kind, const MemoryLedger& ledger,
                                     std::uint64_t bytes, MemoryPurpose purpose);

// `call` is what refused ("mmap", "cudaMalloc"), `reason` its error's name.
[[nodiscard]] Refusal system_refusal(const MemoryKind& kind, std::string_view call,
                                     std::uint64_t bytes, MemoryPurpose purpose,
                                     std::string_view reason);

}  // namespace dlo::platform
