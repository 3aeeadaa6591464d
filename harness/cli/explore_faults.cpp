#include "harness/cli/explore_faults.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "base/failure_signal.h"
#include "engine/simulation/file_fault_loop.h"
#include "platform/cpu/cpu_device.h"
#include "platform/cpu/thread_executor.h"
#include "platform/posix/child_process.h"

namespace dlo::harness {
namespace {

using telemetry::ProcessResources;

// A folder of this process's own, gone when the object is.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(platform::FileSystem& files)
      : files_(&files),
        path_(std::filesystem::temp_directory_path() /
              fmt::format("dlo-explore-{}", platform::own_process_id())) {}
  ~TemporaryFolder() { static_cast<void>(files_->remove_tree(path_)); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const platform::Path& path() const { return path_; }

 private:
  platform::FileSystem* files_;
  platform::Path path_;
};

// Counts of this process and of `folder`.
engine::ResourceProbe make_probe(const CommandContext& context, const platform::Path& folder) {
  return [&context, folder](const ProcessResources* before) {
    const auto counted = before == nullptr ? telemetry::count_resources(context.files, {folder})
                                           : telemetry::count_settled(context.files, {folder},
                                                                      *before, context.clock);
    return counted.value();
  };
}

}  // namespace

Result<engine::FaultSummary> run_fault_loops(const CommandContext& context,
                                             const engine::ExploreRequest& request) {
  const TemporaryFolder folder(context.files);
  if (auto made = context.files.make_directories(folder.path()); !made) {
    return made.refusal();
  }
  const engine::FaultLoopSeams seams{.count = make_probe(context, folder.path()), .decorate = {}};
  const auto runs = request.last_seed - request.first_seed + 1;
  auto summary = engine::fail_at_random(request.first_seed, runs, seams);
  const auto cases = request.simulated ? std::vector{*request.simulated} : engine::fault_cases();
  for (const auto& simulated : cases) {
    summary += engine::fail_every_call(simulated, request.first_seed, seams);
  }
  platform::ThreadExecutor executor(1);
  const auto signal = make_local_failure_signal();
  summary += engine::fail_every_file_call(
      {.files = context.files,
       .executor = executor,
       .make_device = [&context,
                       &signal] { return platform::make_cpu_device({}, context.clock, *signal); },
       .folder = folder.path(),
       .count = seams.count});
  return summary;
}

std::string fault_text(const engine::FaultSummary& summary) {
  std::string text = fmt::format(
      "{} faults injected: {} runs survived, {} ended by name ({} of them gave up buffers under a "
      "busy stream), {} hung, {} with different bytes, {} leaked, {} otherwise wrong\n",
      summary.injected, summary.survived, summary.ended_by_name, summary.abandoned, summary.hung,
      summary.different_bytes, summary.leaked, summary.otherwise_wrong);
  for (const auto& [site, coverage] : summary.sites) {
    std::vector<std::string> codes;
    codes.reserve(coverage.injected.size());
    for (const auto& [code, count] : coverage.injected) {
      codes.push_back(fmt::format("{} {}", code, count));
    }
    if (!codes.empty()) {
      text += fmt::format("  {:<34} {}\n", site, fmt::join(codes, ", "));
    }
  }
  const auto uncovered = summary.uncovered();
  text += fmt::format("{} of {} call sites covered; not reached here: {}\n",
                      platform::known_call_sites().size() - uncovered.size(),
                      platform::known_call_sites().size(),
                      uncovered.empty() ? "none" : fmt::format("{}", fmt::join(uncovered, ", ")));
  for (const auto& problem : summary.first_problems) {
    text += problem + "\n";
  }
  return text;
}

}  // namespace dlo::harness
