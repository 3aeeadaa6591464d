// Owns: allocation_count, how often this program has called operator new.
// Must not own: what counts as allowed, or malloc of C libraries. Linking its source replaces
// operator new and delete of the whole program; a program that links it is built source by source.
// Threading: any thread.
#pragma once

#include <cstdint>

namespace dlo::test_support {

[[nodiscard]] std::uint64_t allocation_count();

}  // namespace dlo::test_support
