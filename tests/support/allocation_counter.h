// Owns: allocation_count, how often this program has called operator new, and NoMemory, under which
// it fails.
// Must not own: what counts as allowed, or malloc of C libraries. Linking its source replaces
// operator new and delete of the whole program; a program that links it is built source by source.
// Threading: any thread.
#pragma once

#include <cstdint>

namespace dlo::test_support {

[[nodiscard]] std::uint64_t allocation_count();

// While one lives, operator new throws on its thread.
class NoMemory {
 public:
  NoMemory();
  ~NoMemory();
  NoMemory(const NoMemory&) = delete;
  NoMemory& operator=(const NoMemory&) = delete;
};

}  // namespace dlo::test_support
