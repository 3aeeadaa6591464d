#include "harness/cli/scenario_commands.h"

#include <fmt/format.h>

#include <cstdlib>
#include <ostream>
#include <span>

#include "base/codes.h"
#include "engine/accelerators.h"
#include "engine/model_runner.h"
#include "harness/build_info.h"
#include "harness/gate/gate_run.h"
#include "harness/machine.h"
#include "harness/model_store.h"
#include "harness/plan.h"
#include "harness/report_files.h"
#include "harness/runner.h"
#include "harness/scenario_files.h"
#include "harness/summary.h"
#include "platform/cpu/thread_executor.h"

namespace dlo::harness {
namespace {

using platform::Path;

constexpr std::string_view kScratchName = "scratch";
constexpr const char* kNameOption = "--name";
constexpr const char* kInstanceOption = "--instance";

bool is_run(const Arguments& arguments) {
  return arguments.subcommand == Subcommand::kRun;
}

std::span<engine::ArmSpec> arms_of(Scenario& scenario) {
  return scenario.throughput.has_value() ? std::span(scenario.throughput->arms)
                                         : std::span<engine::ArmSpec>();
}

Result<ScenarioSet> load_own(const CommandContext& context, const Arguments& arguments) {
  const std::vector<Path> paths(arguments.paths.begin(), arguments.paths.end());
  Result<ScenarioSet> set = load_scenarios(context.files, paths, arguments.seed);
  if (!set) {
    return set;
  }
  for (Scenario& scenario : set->scenarios) {
    if (Status status = apply_overrides(arguments.overrides, scenario.options); !status) {
      return status.refusal();
    }
    for (engine::ArmSpec& arm : arms_of(scenario)) {
      if (Status status = apply_overrides(arguments.overrides, arm.options); !status) {
        return status.refusal();
      }
    }
  }
  std::erase_if(set->scenarios, [&](const Scenario& scenario) {
    const bool other = !arguments.instance.empty() && scenario.name != arguments.instance;
    return other || scenario.name.find(arguments.name_filter) == std::string::npos;
  });
  if (set->scenarios.empty()) {
    return refuse(codes::kInvalidValue,
                  arguments.instance.empty()
                      ? fmt::format("no instance's name contains '{}'", arguments.name_filter)
                      : fmt::format("no instance is called '{}'", arguments.instance),
                  arguments.instance.empty() ? kNameOption : kInstanceOption,
                  "see the names with dlo sweep PATH --list");
  }
  return set;
}

// The same set on every rank, or one refusal.
Result<ScenarioSet> load(const CommandContext& context, const Arguments& arguments) {
  Result<ScenarioSet> set = load_own(context, arguments);
  const Status mine = set.ok() ? Status{} : Status{set.refusal()};
  if (Status agreed = agree_on_step(context, "scenario files", mine); !agreed) {
    return agreed.refusal();
  }
  const Status same =
      comm::agree(context.world.control(), "scenario files", set->digest, codes::kRanksDisagree,
                  Deadline::after(context.clock.now(), kStepTimeout));
  if (!same) {
    return same.refusal();
  }
  return set;
}

// Results of an earlier run would pass for this one's if this one does not finish.
Status clear_output(const CommandContext& context, const Path& out) {
  if (Status made = context.files.make_directories(out); !made) {
    return made;
  }
  const Path probe = out / "writable.probe";
  if (Status written = platform::write_text_atomically(context.files, probe, "probe\n"); !written) {
    return written;
  }
  if (Status removed = context.files.remove_file(probe); !removed) {
    return removed;
  }
  for (const Path& old : {out / kResultsFileName, out / kMarkdownFileName, out / kHtmlFileName,
                          out / kVerdictsFolder, out / kTracesFolder}) {
    if (Status removed = context.files.remove_tree(old); !removed) {
      return removed;
    }
  }
  return context.files.remove_tree(out / kScratchName);
}

// Whatever stands in the way, the answer is another folder.
Status prepare_output(const CommandContext& context, const Path& out) {
  const Status cleared = context.is_rank_zero() ? clear_output(context, out) : Status{};
  if (cleared.ok()) {
    return {};
  }
  return refuse(codes::kFileUnwritable, "the output folder: " + cleared.refusal().what,
                cleared.refusal().where, "name another folder with --out; nothing was run");
}

// What a run may not leave files in: its output, and the place of its own that a gate gives MPI for
// shared memory. Without a gate that is /dev/shm, which belongs to other jobs too.
std::vector<Path> temporary_folders(const Arguments& arguments) {
  std::vector<Path> folders{arguments.out};
  if (const char* shared = std::getenv(kSharedMemoryVariable); shared != nullptr) {
    folders.emplace_back(shared);
  }
  return folders;
}

void print_list(const CommandContext& context, const Plan& plan) {
  for (const PlannedScenario& step : plan.steps) {
    context.out << step.scenario.name << '\n';
  }
  for (const SkippedScenario& skipped : plan.skipped) {
    context.out << skipped.name << "  (skipped: " << skipped.reason << ")\n";
  }
}

RunInfo run_info(const CommandContext& context, const Arguments& arguments) {
  RunInfo info;
  info.commit = commit_text();
  info.command = context.command_line;
  info.host = host_name(context.files);
  info.world_size = context.world.size();
  info.build = build_info();
  info.seed = arguments.seed;
  info.started_at = context.clock.wall_time_text();
  return info;
}

RunnerResult walk(const CommandContext& context, const Arguments& arguments, const Plan& plan) {
  platform::ThreadExecutor executor(0);
  ModelStore models(ModelStoreSeams{context.world, context.files, context.clock, executor},
                    Path(arguments.out) / kScratchName);
  engine::RunEnvironment environment;
  environment.world = &context.world;
  environment.files = &context.files;
  environment.build_digest = build_digest();
  environment.temporary_folders = temporary_folders(arguments);
  VerdictLog verdicts(context.files, context.clock, arguments.out, context.world.rank());
  environment.before_crash = [&verdicts] { verdicts.note_crash(); };
  Progress progress(context.err, context.terminal, context.is_rank_zero());
  RunnerResult result = run_plan(
      plan,
      RunnerSeams{
          .prepare_model = [&](const ModelChoice& model) { return models.prepare(model); },
          .run =
              [&](const engine::RunRequest& request) { return engine::run(environment, request); },
          .progress = progress,
          .verdicts = &verdicts});
  // What cannot be removed is left lying; the results do not depend on it.
  if (Status cleaned = models.clean(); !cleaned) {
    say_error(context, cleaned.refusal());
  }
  return result;
}

Status write_everything(const CommandContext& context, const Path& out, const Results& results,
                        const std::vector<TraceFile>& traces) {
  if (!context.is_rank_zero()) {
    return {};
  }
  if (Status written = write_traces(context.files, out, traces); !written) {
    return written;
  }
  if (Status written = write_reports(context.files, out, results); !written) {
    return written;
  }
  // Last, so that results that can be seen have their report beside them.
  return write_results(context.files, out, results);
}

ExitCode finish(const CommandContext& context, const Arguments& arguments, const Results& results,
                const RunnerResult& walked) {
  const Path out = arguments.out;
  Status written = write_everything(context, out, results, walked.traces);
  if (walked.broken.has_value()) {
    // The ranks cannot agree any more: each ends with what it knows.
    say_error(context, *walked.broken);
    return ExitCode::kFellShort;
  }
  written = agree_on_step(context, "results", written);
  if (!written) {
    say_error(context, written.refusal());
    return ExitCode::kFellShort;
  }
  // What the verdict files say stands in the results.
  if (context.is_rank_zero()) {
    static_cast<void>(context.files.remove_tree(out / kVerdictsFolder));
  }
  context.out << summary_text(results) << "report: " << (out / kHtmlFileName).string() << std::endl;
  const bool fell_short = context.is_rank_zero() && !results.all_passed();
  return fell_short ? ExitCode::kFellShort : ExitCode::kAllAsExpected;
}

Result<Plan> make_plan(const CommandContext& context, const Arguments& arguments,
                       const ScenarioSet& set) {
  const auto accelerators = count_accelerators(engine::find_accelerators());
  if (is_run(arguments)) {
    return plan_run(set.scenarios, context.world.size(), accelerators);
  }
  return plan_sweep(set.scenarios, context.world.size(), accelerators);
}

}  // namespace

ExitCode run_scenarios(const CommandContext& context, const Arguments& arguments) {
  const Nanoseconds started = context.clock.now();
  Result<ScenarioSet> set = load(context, arguments);
  if (!set) {
    say_error(context, set.refusal());
    const std::string& where = set.refusal().where;
    const bool usage = where == kNameOption || where == kInstanceOption;
    return usage ? ExitCode::kUsage : ExitCode::kFellShort;
  }
  Result<Plan> plan = make_plan(context, arguments, *set);
  if (!plan) {
    say_error(context, plan.refusal());
    return ExitCode::kUsage;
  }
  if (arguments.list) {
    print_list(context, *plan);
    return ExitCode::kAllAsExpected;
  }
  const Status writable =
      agree_on_step(context, "output folder", prepare_output(context, arguments.out));
  if (!writable) {
    say_error(context, writable.refusal());
    return ExitCode::kFellShort;
  }
  Results results;
  results.run = run_info(context, arguments);
  RunnerResult walked = walk(context, arguments, *plan);
  results.scenarios = std::move(walked.scenarios);
  results.skipped = plan->skipped;
  results.run.duration_s =
      static_cast<double>(context.clock.now() - started) / static_cast<double>(kSecond);
  return finish(context, arguments, results, walked);
}

}  // namespace dlo::harness
