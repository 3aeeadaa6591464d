// Owns: ResourceWatch, the counts of one run: what the process held before a rank started its
// worker and what it holds once every worker has shut down.
// Must not own: the judgement (harness), or the figures (telemetry/process_resources.h).
// Which growth is a leak: libraries keep threads, descriptors, mappings and communicator segments
// after their first use, so a first run of its kind in a process says nothing. Whoever judges runs
// the same request once before (harness/runner.cpp does, without the faults).
// Threading: launching thread, between exchanges that all ranks of the process take part in.
#pragma once

#include <optional>
#include <vector>

#include "engine/run_report.h"
#include "platform/clock.h"
#include "platform/file_system.h"

namespace dlo::engine {

class ResourceWatch {
 public:
  // Everything passed outlives the watch.
  ResourceWatch(const platform::FileSystem& files, const std::vector<platform::Path>& folders,
                platform::Clock& clock)
      : files_(&files), folders_(&folders), clock_(&clock) {}

  // Counts before the run.
  void begin();
  // Counts after it; `left` has what the device's books listed at the end. Empty when counting
  // failed.
  [[nodiscard]] std::optional<ResourceChange> end(const telemetry::ProcessResources& left);

 private:
  const platform::FileSystem* files_;
  const std::vector<platform::Path>* folders_;
  platform::Clock* clock_;
  std::optional<telemetry::ProcessResources> before_;
};

}  // namespace dlo::engine
