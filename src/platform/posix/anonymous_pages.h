// Owns: zeroed anonymous pages of the process, as the platforms hand out for host memory.
// Must not own: books or lifetimes (the callers' buffers). Any thread.
#pragma once

#include "base/tensor_view.h"

namespace dlo::platform {

// Exactly `bytes` (more than zero), page aligned, zeroed. Empty, with errno set, on failure.
[[nodiscard]] ByteSpan map_pages(std::uint64_t bytes);

// Gives back what map_pages gave; also unlocks.
void unmap_pages(ByteSpan range) noexcept;

}  // namespace dlo::platform
