// Owns: the traces of throughput scenarios: one file an arm, all ranks in it, beside results.json,
// in the Chrome trace format (opens in ui.perfetto.dev).
// Must not own: the intervals (telemetry/block_timing.h). Failure: refusals with the path; a file
// appears whole or not at all.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "harness/throughput_summary.h"
#include "platform/file_system.h"
#include "telemetry/timeline.h"

namespace dlo::harness {

inline constexpr std::string_view kTracesFolder = "traces";

struct TraceFile {
  std::string name;  // inside the folder: "h2d_14b_dp2.all_gather.json"
  telemetry::Timeline timeline;
};

// "scenario/dp2", "all_gather" -> "scenario_dp2.all_gather.json".
[[nodiscard]] std::string trace_file_name(const std::string& scenario, const std::string& arm);

// One an arm that was traced.
[[nodiscard]] std::vector<TraceFile> traces_of(const std::string& scenario,
                                               const ThroughputSummary& summary);

// Into DIR/traces; nothing is made for no traces.
[[nodiscard]] Status write_traces(platform::FileSystem& files, const platform::Path& directory,
                                  const std::vector<TraceFile>& traces);

}  // namespace dlo::harness
