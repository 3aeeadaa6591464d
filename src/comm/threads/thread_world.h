// Owns: worlds of ranks that are threads of one process: groups, control exchanges and AllGather
// over shared memory, for TSan, unit and property tests and single-process runs.
// Must not own: the rank threads themselves; callers give each World to one.
// Threading: a World is used by its rank's thread, its communicators also by that rank's streams.
// Failure: waits end by deadline or by a watched rank's failure; ranks that disagree on size,
// label or order end with schedule_mismatch or collective_failed on every rank of the group.
#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "platform/clock.h"

namespace dlo::comm {

// One World a rank, index = rank. They share their state; the last one frees it. `clock` outlives
// them. Every rank watches all ranks until watch_failures_of says otherwise.
[[nodiscard]] std::vector<std::unique_ptr<World>> make_thread_world(int ranks,
                                                                    platform::Clock& clock);

}  // namespace dlo::comm
