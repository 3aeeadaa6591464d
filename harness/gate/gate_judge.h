// Owns: the verdict on a job: what ran against what was planned, outcomes and codes against the
// scenarios' own expectations, and for a crash job whether every survivor that shares weights with
// the lost rank named it in time while others did their work.
// Must not own: running jobs, or files. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/gate/gate_run.h"

namespace dlo::harness {

// A survivor names a lost rank of its weight group within this time.
inline constexpr Nanoseconds kNamedWithin = 10 * kSecond;

struct GateScenario {
  std::string name;
  std::string outcome;  // empty: it did not run
  std::string code;
  std::string expected;  // "fails_closed (peer_failed)"
  std::vector<std::string> findings;

  [[nodiscard]] bool passed() const { return findings.empty(); }
};

// One rank of a crash job.
struct GateRank {
  int rank = 0;
  std::string part;     // "lost", "shares weights", "independent"
  std::string outcome;  // empty: it left no verdict
  std::string code;
  std::optional<double> named_after_s;
};

struct JobVerdict {
  std::string name;
  int ranks = 1;
  bool own = false;  // as GateJob
  bool crash = false;
  JobFacts facts;
  std::vector<GateScenario> scenarios;
  std::vector<GateRank> rank_rows;    // of a crash job
  std::vector<std::string> findings;  // about the job itself

  [[nodiscard]] bool passed() const;
};

// Faults over all jobs, as the nemesis counts them.
struct FaultTotals {
  std::size_t injected = 0;
  std::size_t survived = 0;       // identical bytes
  std::size_t ended_by_name = 0;  // one named error on every rank it concerns
  std::size_t hung = 0;
  std::size_t different_bytes = 0;
  // Jobs that left a process or shared memory, and scenarios in which a rank kept what it had
  // taken.
  std::size_t leaked = 0;
};

[[nodiscard]] JobVerdict judge_job(const GateJob& job, const JobFacts& facts);

[[nodiscard]] FaultTotals count_faults(const std::vector<GateJob>& jobs,
                                       const std::vector<JobVerdict>& verdicts);

}  // namespace dlo::harness
