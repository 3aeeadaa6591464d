// Owns: which figures of a process a test of the fault loops can judge in this build.
// Must not own: counting (telemetry/process_resources.h).
// Sanitizers lock no memory, and their allocator maps as it likes; the same tests in the release
// build (label fault) judge both figures.
#pragma once

#include "telemetry/process_resources.h"

namespace dlo::engine {

#ifdef DLO_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// As counted; under sanitizers with a figure above all that can be counted in place of those two.
inline telemetry::ProcessResources judged(telemetry::ProcessResources counted) {
  if (kSanitized) {
    counted.other_mappings = 1 << 30;
    counted.locked_bytes = 1 << 30;
  }
  return counted;
}

}  // namespace dlo::engine
