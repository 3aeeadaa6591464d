// Owns: await_rest, the wait before memory goes: until every stream has ended what it was given,
// with gathers ended whose peers are gone.
// Must not own: which gathers are to end, what becomes of memory that a stream never lets go of.
// Threading: launching thread.
#pragma once

#include <functional>
#include <span>

#include "base/deadline.h"
#include "platform/device.h"

namespace dlo::backend {

// Records `ends`, an event a stream in the order of platform::kAllStreams or none where nothing was
// issued, and waits for them; false past `bound`. Calls `end_gathers` first and again at every
// look: a write that a peer's stream has queued may undo an abort. Not by wait_host(), which leaves
// at once when the device or a peer has failed, while operations that touch the memory may still
// run.
[[nodiscard]] bool await_rest(platform::Device& device, std::span<const platform::EventId> ends,
                              const std::function<void()>& end_gathers, Deadline bound);

}  // namespace dlo::backend
