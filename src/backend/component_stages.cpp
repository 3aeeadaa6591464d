#include "backend/component_stages.h"

#include <algorithm>

#include "base/error.h"

namespace dlo::backend {

ComponentStages::ComponentStages(const contracts::OffloadPlan& plan,
                                 std::vector<OnDemandComponent*> components) {
  for (auto* component : components) {
    const bool named = plan.on_demand_component_paths.contains(std::string(component->path()));
    components_.push_back({component, named && component->can_offload()});
  }
}

Status ComponentStages::place(Deadline deadline) {
  for (const auto& [component, on_demand] : components_) {
    auto placed = on_demand ? component->offload(deadline) : component->load(deadline);
    if (!placed.ok()) {
      return placed;
    }
  }
  return {};
}

Status ComponentStages::enter(std::string_view path, Deadline deadline) {
  const auto& [component, on_demand] = find(path);
  return on_demand ? component->load(deadline) : Status{};
}

Status ComponentStages::leave(std::string_view path, Deadline deadline) {
  const auto& [component, on_demand] = find(path);
  return on_demand ? component->offload(deadline) : Status{};
}

std::vector<std::string> ComponentStages::on_demand() const {
  std::vector<std::string> paths;
  for (const auto& [component, on_demand] : components_) {
    if (on_demand) {
      paths.emplace_back(component->path());
    }
  }
  return paths;
}

const ComponentStages::Placed& ComponentStages::find(std::string_view path) const {
  const auto found =
      std::find_if(components_.begin(), components_.end(),
                   [path](const Placed& placed) { return placed.component->path() == path; });
  require(found != components_.end(), "no component is called '" + std::string(path) + "'");
  return *found;
}

}  // namespace dlo::backend
