#include "platform/memory_refusal.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/codes.h"

namespace dlo::platform {

const MemoryKind kDeviceMemory{
    codes::kDeviceOutOfMemory, "device memory",
    "lower the prefetch depth or the model size, or raise the device budget"};
const MemoryKind kPinnedMemory{
    codes::kPinFailed, "page-locked memory",
    "raise the limit on locked memory (ulimit -l) or the pinned budget, or run with "
    "pin_cpu_memory=false"};
const MemoryKind kPageableMemory{codes::kHostOutOfMemory, "host memory",
                                 "use more ranks or a smaller model"};

Refusal budget_refusal(const MemoryKind& kind, const MemoryLedger& ledger, std::uint64_t bytes,
                       MemoryPurpose purpose) {
  return refuse(kind.code,
                fmt::format("{} of {} do not fit the budget: {} of {} are in use",
                            format_bytes(bytes), kind.name, format_bytes(ledger.use().now_bytes),
                            format_bytes(ledger.budget_bytes())),
                std::string(memory_purpose_name(purpose)), std::string(kind.action));
}

Refusal system_refusal(const MemoryKind& kind, std::string_view call, std::uint64_t bytes,
                       MemoryPurpose purpose, std::string_view reason) {
  return refuse(
      kind.code,
      fmt::format("{} refused {} of {}: {}", call, format_bytes(bytes), kind.name, reason),
      std::string(memory_purpose_name(purpose)), std::string(kind.action));
}

}  // namespace dlo::platform
