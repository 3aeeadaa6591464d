#include "platform/posix/anonymous_pages.h"

#include <sys/mman.h>

namespace dlo::platform {

ByteSpan map_pages(std::uint64_t bytes) {
  void* const start =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return start == MAP_FAILED ? ByteSpan{} : ByteSpan(static_cast<std::byte*>(start), bytes);
}

void unmap_pages(ByteSpan range) noexcept {
  ::munmap(range.data(), range.size());
}

}  // namespace dlo::platform
