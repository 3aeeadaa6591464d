#include "platform/posix/sigbus_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <mutex>
#include <utility>

#include "base/codes.h"
#include "base/error.h"

namespace dlo::platform {

namespace {

// Entries lie in blocks that are linked and never freed: the handler walks them without a lock.
struct EntryBlock {
  std::array<GuardedEntry, 128> entries;
  std::atomic<EntryBlock*> next{nullptr};
};

EntryBlock first_block;

// Handlers found before ours, the latest last. The handler reads the one at previous_count - 1.
std::array<struct sigaction, 8> previous_handlers;
std::atomic<std::size_t> previous_count{0};
std::mutex install_mutex;
std::atomic<std::uintptr_t> page_mask{0};

// A library that chains back to us must not send a fault round in circles.
thread_local volatile sig_atomic_t chaining = 0;

GuardedEntry* entry_of(std::uintptr_t address) {
  for (EntryBlock* block = &first_block; block != nullptr; block = block->next.load()) {
    for (GuardedEntry& entry : block->entries) {
      const std::uintptr_t begin = entry.begin.load();
      if (begin != 0 && address >= begin && address < entry.end.load()) {
        return &entry;
      }
    }
  }
  return nullptr;
}

// True when the faulting page now reads as zeros.
bool answer_with_zeros(void* fault_address) {
  const auto address = reinterpret_cast<std::uintptr_t>(fault_address);
  GuardedEntry* entry = entry_of(address);
  if (entry == nullptr) {
    return false;
  }
  const std::uintptr_t mask = page_mask.load();
  const std::uintptr_t page = address & ~mask;
  // Before the zeros can be seen: a thread that reads them without a fault of its own asks next.
  entry->faulted.store(true);
  // The system call itself: a sanitizer's mmap is not async-signal-safe, and takes this for a
  // write.
  constexpr long kProtection = PROT_READ;
  constexpr long kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
  const long mapped = ::syscall(SYS_mmap, page, mask + 1, kProtection, kFlags, -1L, 0L);
  return mapped == static_cast<long>(page);
}

void take_default(const siginfo_t* info) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  ::sigaction(SIGBUS, &action, nullptr);
  if (info->si_code <= 0) {
    // Sent by a process: nothing faults again on return, so send it again.
    ::raise(SIGBUS);
  }
}

void chain(int signal, siginfo_t* info, void* context) {
  const std::size_t count = previous_count.load();
  if (count == 0 || chaining != 0) {
    take_default(info);
    return;
  }
  const struct sigaction& previous = previous_handlers[count - 1];
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    chaining = 1;
    previous.sa_sigaction(signal, info, context);
    chaining = 0;
  } else if (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN) {
    take_default(info);
  } else {
    chaining = 1;
    previous.sa_handler(signal);
    chaining = 0;
  }
}

void on_sigbus(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  if (info->si_code != BUS_ADRERR || !answer_with_zeros(info->si_addr)) {
    chain(signal, info, context);
  }
  errno = saved_errno;
}

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_sigbus;
}

GuardedEntry& take_entry() {
  for (EntryBlock* block = &first_block;;) {
    for (GuardedEntry& entry : block->entries) {
      if (!entry.taken.exchange(true)) {
        return entry;
      }
    }
    EntryBlock* next = block->next.load();
    if (next == nullptr) {
      auto* fresh = new EntryBlock;
      if (block->next.compare_exchange_strong(next, fresh)) {
        next = fresh;
      } else {
        delete fresh;
      }
    }
    block = next;
  }
}

}  // namespace

void install_sigbus_guard() {
  const std::lock_guard lock(install_mutex);
  page_mask.store(static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE)) - 1);
  struct sigaction current = {};
  if (::sigaction(SIGBUS, nullptr, &current) == 0 && is_ours(current)) {
    return;
  }
  const std::size_t count = previous_count.load();
  if (count < previous_handlers.size()) {
    previous_handlers[count] = current;
    previous_count.store(count + 1);
  }
  struct sigaction action = {};
  action.sa_sigaction = on_sigbus;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  if (::sigaction(SIGBUS, &action, nullptr) != 0) {
    throw SystemError(codes::kInternal, "cannot install the SIGBUS handler", errno);
  }
}

void admit_sigbus() noexcept {
  thread_local bool admitted = false;
  if (!admitted) {
    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGBUS);
    admitted = ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr) == 0;
  }
}

GuardedRange::GuardedRange(ConstByteSpan range) {
  if (range.empty()) {
    return;
  }
  install_sigbus_guard();
  entry_ = &take_entry();
  entry_->faulted.store(false);
  const auto begin = reinterpret_cast<std::uintptr_t>(range.data());
  entry_->end.store(begin + range.size());
  entry_->begin.store(begin);
}

GuardedRange::~GuardedRange() {
  if (entry_ != nullptr) {
    entry_->begin.store(0);
    entry_->end.store(0);
    entry_->taken.store(false);
  }
}

GuardedRange::GuardedRange(GuardedRange&& other) noexcept
    : entry_(std::exchange(other.entry_, nullptr)) {}

bool GuardedRange::faulted() const {
  return entry_ != nullptr && entry_->faulted.load();
}

}  // namespace dlo::platform
