// Owns: Results, everything that a run of scenarios leaves behind, and its JSON form, the file
// results.json (contract for scripts: README of scenarios/).
// Must not own: how a figure came about (metrics.h), verdicts (expectations.h), report text.
// Failure: a file that is not of this form is a Refusal with the offending path; writing is atomic,
// so a results file that can be seen is complete.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "harness/json.h"
#include "platform/file_system.h"

namespace dlo::harness {

inline constexpr int kResultsSchemaVersion = 1;
inline constexpr std::string_view kResultsFileName = "results.json";

// As asked for: sizes that a rule refuses stand here too.
struct TopologySizes {
  std::int64_t dp = 1;
  std::int64_t sp = 1;
  std::int64_t tp = 1;
  std::int64_t hsdp = 1;  // ranks that share one copy; 1: no HSDP

  // "DP 2", "DP 2, SP 2"; "DP 1" when every size is 1.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const TopologySizes&, const TopologySizes&) = default;
};

// One figure over the ranks of a scenario.
struct Metric {
  std::string name;  // of the table in metrics.h
  double value = 0;
  std::string unit;
  std::uint64_t samples = 1;
  std::optional<double> limit;  // what the value is held against, where there is such a thing

  friend bool operator==(const Metric&, const Metric&) = default;
};

struct ScenarioResult {
  std::string name;
  std::string model;  // "wan_cpu, 4 blocks, F32"
  // What bytes depend on beside the model and its topology.
  std::string device = "cpu";
  std::string attention = "plain";
  std::string compute_dtype = "F32";
  std::string gather;  // who gathered: "nccl", "copy_engine", "host_memory"; empty on the CPU
  TopologySizes topology;
  Json options;    // as requested
  Json effective;  // as rank 0 did it; null when nothing ran
  std::string outcome;
  std::string code;
  std::string message;
  std::string expected_outcome;
  std::string expected_code;
  bool passed = false;
  std::vector<std::string> failed_checks;  // one sentence each, empty when passed
  std::optional<bool> bytes_equal;         // empty: nothing to compare with
  std::string compared_with;               // name of the reference scenario
  std::string output_digest;
  std::vector<Metric> metrics;  // empty when a sanity check failed
  Json throughput;              // of a throughput scenario (throughput_summary.h), else null
  Json ranks = Json::array();
};

// A scenario that this world cannot hold.
struct SkippedScenario {
  std::string name;
  TopologySizes topology;
  std::string reason;  // "needs 4 ranks, world has 2"
};

struct RunInfo {
  std::string commit;
  std::string command;
  std::string host;
  int world_size = 1;
  Json build = Json::object();
  std::uint64_t seed = 0;
  std::string started_at;  // UTC
  double duration_s = 0;
};

struct Results {
  RunInfo run;
  std::vector<ScenarioResult> scenarios;
  std::vector<SkippedScenario> skipped;

  [[nodiscard]] std::size_t passed_count() const;
  [[nodiscard]] bool all_passed() const { return passed_count() == scenarios.size(); }
};

[[nodiscard]] Json to_json(const Results& results);
// Inverse of to_json. `where` names the file in the refusal. Codes: invalid_value.
[[nodiscard]] Result<Results> results_from_json(const Json& json, const std::string& where);

// Reads DIR/results.json. Codes: file_not_found, file_unreadable, invalid_value.
[[nodiscard]] Result<Results> read_results(const platform::FileSystem& files,
                                           const platform::Path& directory);
// Writes DIR/results.json atomically.
[[nodiscard]] Status write_results(platform::FileSystem& files, const platform::Path& directory,
                                   const Results& results);

}  // namespace dlo::harness
