#include "harness/trace_files.h"

#include <algorithm>

namespace dlo::harness {

std::string trace_file_name(const std::string& scenario, const std::string& arm) {
  std::string name = scenario + "." + arm + ".json";
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

std::vector<TraceFile> traces_of(const std::string& scenario, const ThroughputSummary& summary) {
  std::vector<TraceFile> traces;
  for (const ArmSummary& arm : summary.arms) {
    TraceFile trace{.name = trace_file_name(scenario, arm.name), .timeline = {}};
    for (const engine::ArmMeasurement* rank : arm.ranks) {
      trace.timeline.rows.insert(trace.timeline.rows.end(), rank->trace.rows.begin(),
                                 rank->trace.rows.end());
    }
    if (!trace.timeline.rows.empty()) {
      traces.push_back(std::move(trace));
    }
  }
  return traces;
}

Status write_traces(platform::FileSystem& files, const platform::Path& directory,
                    const std::vector<TraceFile>& traces) {
  const platform::Path folder = directory / kTracesFolder;
  if (!traces.empty()) {
    if (Status made = files.make_directories(folder); !made) {
      return made;
    }
  }
  for (const TraceFile& trace : traces) {
    if (Status written = platform::write_text_atomically(files, folder / trace.name,
                                                         trace.timeline.perfetto_json() + "\n");
        !written) {
      return written;
    }
  }
  return {};
}

}  // namespace dlo::harness
