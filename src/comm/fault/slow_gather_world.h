// Owns: the decorator of a slow link between ranks: before each gather of a communicator its stream
// sleeps, so that a missing event wait shows as wrong bytes and peers wait for this rank. The
// issuing thread is not held up. Must not own: which gathers a run makes.
// Threading and failure: those of the world below.
#pragma once

#include <memory>

#include "comm/communicator.h"

namespace dlo::comm {

// A World over `inner`, not owned, whose gathers each take at least `delay`. A launch of its own
// label precedes each.
[[nodiscard]] std::unique_ptr<World> make_slow_gather_world(World& inner, Nanoseconds delay);

}  // namespace dlo::comm
