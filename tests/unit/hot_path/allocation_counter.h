// Owns: allocation_count, how often this program has called operator new.
// Must not own: what counts as allowed. Linking its source replaces operator new and delete of the
// whole program. Threading: any thread.
#pragma once

#include <cstdint>

namespace dlo::test {

[[nodiscard]] std::uint64_t allocation_count();

}  // namespace dlo::test
