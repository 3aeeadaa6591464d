// Owns: MemoryLedger, the books and the budget of one kind of memory: bytes now and at peak and
// buffers that are alive, in total and by purpose.
// Must not own: memory. Threading: any thread. Failure: an amount over the budget is not entered.
#pragma once

#include <array>
#include <mutex>

#include "platform/device.h"

namespace dlo::platform {

class MemoryLedger {
 public:
  explicit MemoryLedger(std::uint64_t budget_bytes) : budget_bytes_(budget_bytes) {}

  // False, and nothing entered, when the budget would be exceeded.
  [[nodiscard]] bool try_add(std::uint64_t bytes, MemoryPurpose purpose);
  void remove(std::uint64_t bytes, MemoryPurpose purpose);

  [[nodiscard]] std::uint64_t budget_bytes() const { return budget_bytes_; }
  [[nodiscard]] MemoryUse use() const;
  [[nodiscard]] MemoryUse use(MemoryPurpose purpose) const;

 private:
  static constexpr std::size_t kPurposes = static_cast<std::size_t>(MemoryPurpose::kOther) + 1;

  const std::uint64_t budget_bytes_;
  mutable std::mutex mutex_;
  MemoryUse total_;
  std::array<MemoryUse, kPurposes> by_purpose_{};
};

}  // namespace dlo::platform
