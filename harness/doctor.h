// Owns: `dlo doctor`: the machine's facts as a table for people, each with what it means for dlo.
// Must not own: reading them (machine.h). Pure.
#pragma once

#include <string>

#include "engine/accelerators.h"
#include "harness/machine.h"

namespace dlo::harness {

// The world that the doctor was called in.
struct WorldFacts {
  std::string kind;  // "mpi", "threads"
  int size = 1;
};

[[nodiscard]] std::string doctor_text(const MachineFacts& facts, const WorldFacts& world,
                                      const engine::Accelerators& accelerators);

// False when the machine cannot run the smallest scenario; the reason is a line of the text.
[[nodiscard]] bool machine_suffices(const MachineFacts& facts);

}  // namespace dlo::harness
