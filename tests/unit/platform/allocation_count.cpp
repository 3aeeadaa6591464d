// In a file of its own: inlined into their callers the operators would look mismatched.
#include "tests/unit/platform/allocation_count.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::uint64_t> allocations{0};
}  // namespace

void* operator new(std::size_t bytes) {
  allocations.fetch_add(1);
  if (void* const memory = std::malloc(bytes)) {
    return memory;
  }
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace dlo::test_support {

std::uint64_t allocation_count() {
  return allocations.load();
}

}  // namespace dlo::test_support
