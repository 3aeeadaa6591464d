// Owns: OffloadPlan, what a model says about offloading beyond "every block list is streamed":
// which DiTs may keep leading blocks on the device, which big non-block children are streamed,
// which components come and go with their stage. Must not own: what is really done
// (backend/placement_plan.h). An immutable plain value; a model that says nothing has an empty one.
// Paths are component names ("transformer"), dotted for nested ones ("transformer.language_model").
// Source: behaviour.md 5.1, 5.10, 5.11.
#pragma once

#include <map>
#include <set>
#include <string>

namespace dlo::contracts {

struct OffloadPlan {
  // DiTs that may keep leading blocks resident while they denoise.
  std::set<std::string> resident_dit_paths = {};
  // Non-block child ("token_refiner") -> its block list: streamed in a ring of its own, whatever
  // its size.
  std::map<std::string, std::string> offload_submodules = {};
  // Components that are loaded around their stage.
  std::set<std::string> on_demand_component_paths = {};

  friend bool operator==(const OffloadPlan&, const OffloadPlan&) = default;
};

}  // namespace dlo::contracts
