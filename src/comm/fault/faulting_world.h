// Owns: the decorators that let seam calls of a World, its control groups and communicators fail as
// a FaultPlan says. A failing exchange is one that this rank does not take part in.
// Must not own: the plan or its counters. Threading: launching thread; the injector outlives them.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "platform/fault/fault_plan.h"

namespace dlo::comm {

// A World whose groups and communicators obey `injector`. Not owned: `inner`, `injector`.
[[nodiscard]] std::unique_ptr<World> make_faulting_world(World& inner,
                                                         platform::FaultInjector& injector);

}  // namespace dlo::comm
