// Owns: one mpirun job from start to end: its command line, its deadline, the end of what it left
// running, and the facts that are read from its folder afterwards.
// Must not own: what a job should have done (gate_judge.h).
// Threading: one job at a time. Failure: facts; a job that cannot be started is one too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/gate/gate_plan.h"
#include "harness/results.h"
#include "harness/verdict_log.h"
#include "platform/clock.h"
#include "platform/file_system.h"

namespace dlo::harness {

// Tells the ranks of a job where MPI's shared memory lies: GateSettings::shared_memory.
inline constexpr const char* kSharedMemoryVariable = "DLO_SHARED_MEMORY";

struct GateSeams {
  platform::FileSystem& files;
  platform::Clock& clock;
};

struct GateSettings {
  platform::Path mpirun;
  platform::Path program;                 // dlo itself
  std::vector<platform::Path> scenarios;  // files and folders, for the sweeps
  platform::Path out;                     // exists
  std::uint64_t seed = 0;
  Nanoseconds job_timeout = 600 * kSecond;
  // What MPI puts down for a job goes below this folder, so that leftovers can be told from other
  // jobs' files. Empty: MPI's own place, and nobody looks.
  platform::Path shared_memory;
};

struct JobFacts {
  std::vector<std::string> command;
  std::string ended;  // "exit code 1", "signal 9", or why it did not start
  bool started = false;
  bool succeeded = false;  // exit code 0
  bool timed_out = false;  // ended by the gate at the deadline
  double duration_s = 0;
  std::vector<int> orphans;                 // processes that outlived mpirun; ended by id
  std::vector<std::string> leftover_files;  // in shared memory
  std::optional<Results> results;           // of a job that ended in good order
  std::vector<RankVerdict> verdicts;        // of ranks that left one
  std::string last_words;                   // end of what the job printed
};

[[nodiscard]] std::vector<std::string> job_command(const GateJob& job,
                                                   const GateSettings& settings);

// A folder of this process's own below `parent` for GateSettings::shared_memory, not yet made;
// empty when there is no `parent`. Removes those of gates that were killed.
[[nodiscard]] platform::Path shared_memory_folder(platform::FileSystem& files,
                                                  const platform::Path& parent);

[[nodiscard]] JobFacts run_job(const GateJob& job, const GateSettings& settings,
                               const GateSeams& seams);

}  // namespace dlo::harness
