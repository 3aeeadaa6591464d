// Owns: the fail-the-n-th loop over what works on files: making a seeded checkpoint, and reading it
// again, ordinarily with digests and through preflight, plan and mapping.
// Must not own: the file system or the folder (given), the books (fault_summary.h).
// Oracles: a checkpoint appears whole, with the bytes of one made without faults, or not at all,
// and nothing lies beside it; a reader gives the digests of an undisturbed one, or one name; what
// the preflight meets ends in the ordinary loader, with equal bytes. A call
// that says "there is no such file" is an answer, not a failure: any name may follow from it.
// Threading: one caller. Failure: booked; LogicError when not even an undisturbed run works.
#pragma once

#include <functional>
#include <memory>

#include "engine/simulation/fault_loop.h"
#include "platform/device.h"
#include "platform/executor.h"
#include "platform/file_system.h"

namespace dlo::engine {

struct FileLoopSeams {
  platform::FileSystem& files;
  // Of one worker, so that the n-th write is the same one each time.
  platform::Executor& executor;
  std::function<std::unique_ptr<platform::Device>()> make_device;  // for what is loaded
  platform::Path folder;  // exists and is empty; empty again afterwards
  ResourceProbe count = {};
};

[[nodiscard]] FaultSummary fail_every_file_call(const FileLoopSeams& seams);

}  // namespace dlo::engine
