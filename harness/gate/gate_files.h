// Owns: what a gate leaves behind: gate.json (everything, for scripts), gate.xml (JUnit), gate.md
// and gate.html (for people).
// Must not own: verdicts (gate_judge.h). Pure but for write_gate, which writes each file
// atomically. Failure: Refusals of the file system.
#pragma once

#include <string>
#include <vector>

#include "harness/gate/gate_judge.h"
#include "harness/json.h"
#include "harness/report_model.h"

namespace dlo::harness {

inline constexpr int kGateSchemaVersion = 1;

struct GateRecord {
  RunInfo run;  // world_size: the largest
  std::vector<JobVerdict> jobs;
  std::vector<SkippedScenario> skipped;
  FaultTotals faults;

  [[nodiscard]] bool passed() const;
  [[nodiscard]] std::size_t scenario_count() const;
  [[nodiscard]] std::size_t passed_count() const;
};

[[nodiscard]] Json to_json(const GateRecord& record);
// A suite a job, a case a scenario, one more case for the job itself.
[[nodiscard]] std::string to_junit(const GateRecord& record);
[[nodiscard]] Report gate_report(const GateRecord& record);
// The lines that a gate ends with on the terminal.
[[nodiscard]] std::string gate_summary(const GateRecord& record);

[[nodiscard]] Status write_gate(platform::FileSystem& files, const platform::Path& out,
                                const GateRecord& record);

}  // namespace dlo::harness
