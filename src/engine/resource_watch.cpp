#include "engine/resource_watch.h"

namespace dlo::engine {

void ResourceWatch::begin() {
  auto counted = telemetry::count_resources(*files_, *folders_);
  if (counted.ok()) {
    before_ = *counted;
  }
}

std::optional<ResourceChange> ResourceWatch::end(const telemetry::ProcessResources& left) {
  if (!before_) {
    return std::nullopt;
  }
  auto after = telemetry::count_settled(*files_, *folders_, *before_, *clock_);
  if (!after.ok()) {
    return std::nullopt;
  }
  telemetry::add_resources(left, *after);  // the count's own part of a device is 0
  return ResourceChange{*before_, *after};
}

}  // namespace dlo::engine
