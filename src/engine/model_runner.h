// Owns: the entry point of the engine: one run on the ranks of one topology, start-up and shutdown
// order included.
// Must not own: which runs there are, or their comparison (harness).
#pragma once

#include <functional>
#include <memory>

#include "comm/communicator.h"
#include "engine/run_report.h"
#include "platform/clock.h"
#include "platform/device.h"

namespace dlo::engine {

// Seams that a run uses. `decorate_device`, when set, wraps the rank's device: the place where
// fault and mutation decorators enter; product runs leave it empty.
struct RunEnvironment {
  comm::World* world = nullptr;
  platform::FileSystem* files = nullptr;
  std::string build_digest;  // commit, compiler, libraries; ranks must agree on it
  std::vector<platform::Path> temporary_folders;  // whose files a run must give back
  std::function<std::unique_ptr<platform::Device>(std::unique_ptr<platform::Device>)>
      decorate_device;
  // Called on a rank that a crash fault is about to end, from any thread: time for a last note.
  std::function<void()> before_crash;
};

// Collective over the whole world: every rank calls it with an equal request. Ranks beyond the
// topology's size take no part in the model and return when the others have ended. Expected
// refusals become the report's outcome; a broken collective or a dead peer ends in kFailsClosed
// within the request's deadlines. The report is the same on every rank (see RunReport).
[[nodiscard]] RunReport run(const RunEnvironment& environment, const RunRequest& request);

}  // namespace dlo::engine
