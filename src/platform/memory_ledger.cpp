#include "platform/memory_ledger.h"

#include <algorithm>

namespace dlo::platform {

namespace {

void add(MemoryUse& use, std::uint64_t bytes) {
  use.now_bytes += bytes;
  use.peak_bytes = std::max(use.peak_bytes, use.now_bytes);
  ++use.now_count;
}

void take(MemoryUse& use, std::uint64_t bytes) {
  use.now_bytes -= bytes;
  --use.now_count;
}

}  // namespace

bool MemoryLedger::try_add(std::uint64_t bytes, MemoryPurpose purpose) {
  const std::lock_guard lock(mutex_);
  const auto sum = checked_add(total_.now_bytes, bytes);
  if (!sum || *sum > budget_bytes_) {
    return false;
  }
  add(total_, bytes);
  add(by_purpose_.at(static_cast<std::size_t>(purpose)), bytes);
  return true;
}

void MemoryLedger::remove(std::uint64_t bytes, MemoryPurpose purpose) {
  const std::lock_guard lock(mutex_);
  take(total_, bytes);
  take(by_purpose_.at(static_cast<std::size_t>(purpose)), bytes);
}

MemoryUse MemoryLedger::use() const {
  const std::lock_guard lock(mutex_);
  return total_;
}

MemoryUse MemoryLedger::use(MemoryPurpose purpose) const {
  const std::lock_guard lock(mutex_);
  return by_purpose_.at(static_cast<std::size_t>(purpose));
}

}  // namespace dlo::platform
