// Owns: this process's place in the job: the World (MPI under a launcher, a world of one rank
// otherwise) and the way out, with one exit code for all ranks.
// Must not own: what runs in it. Threading: main's thread.
// Failure: a world that cannot start is a Refusal; after a broken collective leave() ends the
// process itself.
#pragma once

#include <memory>

#include "base/result.h"
#include "comm/communicator.h"
#include "platform/clock.h"

namespace dlo::harness {

// What dlo's processes end with, agreed by all ranks (the highest wins).
enum class ExitCode : int {
  kAllAsExpected = 0,
  kFellShort = 1,     // a scenario, or a file that is bad
  kUsage = 2,         // the command line, or a world that does not fit it
  kMachineLacks = 3,  // something that this machine does not have
};

class WorldSession {
 public:
  // `argc`, `argv` as of main. `clock` outlives the session.
  [[nodiscard]] static Result<std::unique_ptr<WorldSession>> start(int* argc, char*** argv,
                                                                   platform::Clock& clock);
  virtual ~WorldSession() = default;

  [[nodiscard]] virtual comm::World& world() = 0;
  // The code for main to return. Last use of the world.
  [[nodiscard]] virtual int leave(ExitCode code) = 0;
};

}  // namespace dlo::harness
