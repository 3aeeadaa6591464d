#include "tests/support/allocation_counter.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint64_t> count{0};
thread_local bool memory_is_out = false;

void* counted(std::size_t bytes) {
  ++count;
  void* const memory = memory_is_out ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory != nullptr) {
    return memory;
  }
  throw std::bad_alloc();
}

}  // namespace

// A source of its own: a compiler that sees new and delete side by side takes free() for a mistake.
void* operator new(std::size_t bytes) {
  return counted(bytes);
}
void* operator new[](std::size_t bytes) {
  return counted(bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace dlo::test_support {

std::uint64_t allocation_count() {
  return count.load();
}

NoMemory::NoMemory() {
  memory_is_out = true;
}
NoMemory::~NoMemory() {
  memory_is_out = false;
}

}  // namespace dlo::test_support
