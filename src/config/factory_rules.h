// Owns: the factory rules CFG-30 to CFG-32: whether an offload backend can be made for what the
// loader brings, and what follows when it cannot.
// Must not own: options (config/rules.h) or the facts, which exist only once the weights are
// loaded. Pure functions. Source: behaviour.md 1.3, "Factory rules".
#pragma once

#include <cstdint>
#include <vector>

#include "base/refusal.h"
#include "config/offload_config.h"

namespace dlo::config {

// What is known when the backend is to be made.
struct FactoryFacts {
  OffloadStrategy strategy = OffloadStrategy::kNone;
  bool has_plan = false;  // of the loader
  // The plan stands for weights that were never loaded: there is no way back from it.
  bool plan_replaces_weights = false;
  bool platform_can_offload = true;
  bool device_resolved = true;
};

enum class FactoryOutcome : std::uint8_t {
  kMakeBackend,
  kRunWithoutOffload,  // findings are warnings
  kRefuse,             // findings are errors
};

struct FactoryVerdict {
  FactoryOutcome outcome = FactoryOutcome::kMakeBackend;
  std::vector<Refusal> findings;  // every rule that is violated, by code
};

// CFG-30: a plan without distributed layerwise offload, always an error. CFG-31: the platform
// cannot offload; CFG-32: the device cannot be resolved: an error behind a plan that replaces
// weights, otherwise a warning and a run without offload.
[[nodiscard]] FactoryVerdict check_factory(const FactoryFacts& facts);

}  // namespace dlo::config
