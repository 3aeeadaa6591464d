// Owns: the count of operator new calls of this test program, for tests that something allocates
// nothing. Must not own: malloc of C libraries. Threading: any thread. Linking the source replaces
// the global operators.
#pragma once

#include <cstdint>

namespace dlo::test_support {

[[nodiscard]] std::uint64_t allocation_count();

}  // namespace dlo::test_support
