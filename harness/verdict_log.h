// Owns: the verdict file of one rank, DIR/verdicts/rank-N.json: how this rank ended in each
// scenario so far, which one it is in, and that a crash fault is about to end it. The file is there
// while a job runs and stays when the job broke; a job that ends in good order leaves results.json
// alone. Must not own: judging (gate/). Threading: any thread. Failure: a file that cannot be
// written is missed by its reader; a run does not end because of it.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/run_report.h"
#include "harness/json.h"
#include "platform/clock.h"
#include "platform/file_system.h"

namespace dlo::harness {

inline constexpr std::string_view kVerdictsFolder = "verdicts";

// How one rank ended in one scenario.
struct ScenarioEnding {
  std::string scenario;
  std::string outcome;  // "runs" when this rank did its work, whatever became of others
  std::string code;
  std::string message;
  std::vector<int> weight_group;
  std::vector<engine::RequestDigest> outputs;
  std::vector<std::string> leaks;  // as check_leaks() says; it counts where faults were injected
  std::optional<engine::ResourceChange> resources;
  Nanoseconds ended_at_ns = 0;  // of the machine's monotonic clock, which its processes share
};

struct RankVerdict {
  int rank = 0;
  std::string running;                     // the scenario that it is in; empty between two
  std::optional<Nanoseconds> crash_at_ns;  // a crash fault was met then
  std::vector<ScenarioEnding> endings;
};

[[nodiscard]] Json to_json(const RankVerdict& verdict);
// Codes: invalid_value. `where` names the file.
[[nodiscard]] Result<RankVerdict> verdict_from_json(const Json& json, const std::string& where);
// Codes: file_not_found, file_unreadable, invalid_value. `out` is the folder of the run.
[[nodiscard]] Result<RankVerdict> read_verdict(const platform::FileSystem& files,
                                               const platform::Path& out, int rank);

class VerdictLog {
 public:
  // `files` and `clock` outlive the log. `out` exists.
  VerdictLog(platform::FileSystem& files, platform::Clock& clock, const platform::Path& out,
             int rank);

  void begin(const std::string& scenario);
  void note_crash();
  void end(const std::string& scenario, const engine::RunReport& report);

 private:
  void write();

  platform::FileSystem& files_;
  platform::Clock& clock_;
  platform::Path out_;
  std::mutex mutex_;
  RankVerdict verdict_;
};

}  // namespace dlo::harness
