// Owns: what every World must do, as functions that one rank runs together with its peers: used
// alike on ranks that are threads and under mpirun.
// Must not own: worlds. Threading: each rank calls the same function at about the same time.
// Failure: GoogleTest expectations; every function ends with a clean board on all ranks.
#pragma once

#include "comm/communicator.h"
#include "platform/clock.h"

namespace dlo::test_support {

// AllGather of several sizes, empty and larger than one internal chunk, twice over.
void check_gather_places_every_rank(comm::World& world, platform::Clock& clock);
// Strided and contiguous groups of a DP x SP grid gather at the same time.
void check_grid_groups_stay_apart(comm::World& world, platform::Clock& clock);
// Texts that fit a header, are empty, or are long.
void check_exchange_keeps_rank_order(comm::World& world, platform::Clock& clock);
// Different operations: schedule_mismatch on all; the group is in step again afterwards.
void check_exchange_mismatch_is_named(comm::World& world, platform::Clock& clock);
// The last rank gathers more bytes, or under another label.
void check_gather_size_mismatch_is_named(comm::World& world, platform::Clock& clock);
void check_gather_label_mismatch_is_named(comm::World& world, platform::Clock& clock);
// The last rank never joins a gather or an exchange.
void check_absent_rank_ends_gather(comm::World& world, platform::Clock& clock);
void check_absent_rank_ends_exchange(comm::World& world, platform::Clock& clock);
// The last rank fails before it joins: its code, not a deadline, on everyone.
void check_failure_ends_peers_gather(comm::World& world, platform::Clock& clock);
// The same failure does not reach a rank that watches only itself.
void check_unwatched_failure_is_ignored(comm::World& world, platform::Clock& clock);
// Abort ends a gather that waits.
void check_abort_ends_gather(comm::World& world, platform::Clock& clock);

}  // namespace dlo::test_support
