// Owns: the process's SIGBUS handler and the registry of guarded ranges. A fault inside a guarded
// range (a file was truncated while mapped) is answered with a page of zeros and noted on the
// range; any other SIGBUS goes to the handler that was there before, or to the default.
// Must not own: mappings. Signal dispositions belong to the process, hence so does the registry.
// Threading: every function from any thread; the handler is async-signal-safe and lock-free.
// Order: install before MPI_Init, which leaves a SIGBUS handler alone that it finds.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace dlo::platform {

// Installs the handler. Idempotent; called again after another library took the signal, it goes
// back in front and chains to that library's handler. Throws SystemError if the kernel refuses.
void install_sigbus_guard();

// Lets a fault of the calling thread reach the handler: while it blocks SIGBUS, a fault ends the
// process whatever handler there is. For threads that another library made, which may block every
// signal. Costs something the first time alone.
void admit_sigbus() noexcept;

// Entry of the registry. Never freed, so that the handler may read it at any time.
struct GuardedEntry {
  std::atomic<std::uintptr_t> begin{0};  // 0: free or being filled
  std::atomic<std::uintptr_t> end{0};
  std::atomic<bool> taken{false};
  std::atomic<bool> faulted{false};
};

// Registers [range.begin, range.end) while it lives. The range is page aligned at its start and
// stays mapped read-only longer than this object. An empty range registers nothing.
class GuardedRange {
 public:
  GuardedRange() = default;
  explicit GuardedRange(ConstByteSpan range);
  ~GuardedRange();
  GuardedRange(GuardedRange&& other) noexcept;
  GuardedRange& operator=(GuardedRange&&) = delete;
  GuardedRange(const GuardedRange&) = delete;
  GuardedRange& operator=(const GuardedRange&) = delete;

  // True once a read of the range met a missing page.
  [[nodiscard]] bool faulted() const;

 private:
  GuardedEntry* entry_ = nullptr;
};

}  // namespace dlo::platform
