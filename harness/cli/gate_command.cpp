#include "harness/cli/gate_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "base/codes.h"
#include "engine/accelerators.h"
#include "harness/build_info.h"
#include "harness/gate/gate_files.h"
#include "harness/machine.h"
#include "harness/progress.h"
#include "harness/scenario_files.h"
#include "platform/posix/child_process.h"

namespace dlo::harness {
namespace {

using platform::Path;

constexpr std::array kOutputs{"gate.json", "gate.xml", "gate.md", "gate.html", "jobs"};

std::vector<Path> scenario_paths(const Arguments& arguments) {
  if (arguments.paths.empty()) {
    return {"scenarios/smoke", "scenarios/compatibility", "scenarios/fault"};
  }
  return {arguments.paths.begin(), arguments.paths.end()};
}

// Results of an earlier gate would pass for this one's if this one does not finish.
Status prepare_output(platform::FileSystem& files, const Path& out) {
  if (Status made = files.make_directories(out); !made) {
    return made;
  }
  const Path probe = out / "writable.probe";
  if (Status written = platform::write_text_atomically(files, probe, "probe\n"); !written) {
    return written;
  }
  if (Status removed = files.remove_file(probe); !removed) {
    return removed;
  }
  for (const char* name : kOutputs) {
    if (Status removed = files.remove_tree(out / name); !removed) {
      return removed;
    }
  }
  return {};
}

GateSettings make_settings(const CommandContext& context, const Arguments& arguments,
                           const Path& mpirun) {
  GateSettings settings;
  settings.mpirun = mpirun;
  settings.program = platform::own_program();
  settings.scenarios = scenario_paths(arguments);
  settings.out = arguments.out;
  settings.seed = arguments.seed;
  settings.job_timeout =
      static_cast<Nanoseconds>(arguments.job_timeout_s * static_cast<double>(kSecond));
  settings.shared_memory = shared_memory_folder(context.files, "/dev/shm");
  return settings;
}

void say_findings(const CommandContext& context, const JobVerdict& job) {
  for (const std::string& finding : job.findings) {
    context.err << "fell short: " << job.name << ": " << finding << '\n';
  }
  for (const GateScenario& scenario : job.scenarios) {
    for (const std::string& finding : scenario.findings) {
      context.err << "fell short: " << job.name << ": " << scenario.name << ": " << finding << '\n';
    }
  }
  context.err << std::flush;
}

std::vector<JobVerdict> run_jobs(const CommandContext& context, const GatePlan& plan,
                                 const GateSettings& settings) {
  Progress progress(context.err, context.terminal, /*speaks=*/true);
  std::vector<JobVerdict> verdicts;
  for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
    const GateJob& job = plan.jobs[i];
    progress.begin(i, plan.jobs.size(), job.name);
    verdicts.push_back(judge_job(job, run_job(job, settings, {context.files, context.clock})));
    progress.finish();
    say_findings(context, verdicts.back());
  }
  return verdicts;
}

RunInfo gate_run_info(const CommandContext& context, const Arguments& arguments) {
  RunInfo info;
  info.commit = commit_text();
  info.command = context.command_line;
  info.host = host_name(context.files);
  info.world_size = *std::max_element(arguments.worlds.begin(), arguments.worlds.end());
  info.build = build_info();
  info.seed = arguments.seed;
  info.started_at = context.clock.wall_time_text();
  return info;
}

ExitCode refused(const CommandContext& context, const Refusal& refusal, ExitCode code) {
  say_error(context, refusal);
  return code;
}

}  // namespace

ExitCode run_gate(const CommandContext& context, const Arguments& arguments) {
  const Nanoseconds started = context.clock.now();
  if (context.world.kind() == "mpi") {
    return refused(context,
                   refuse(codes::kInvalidValue, "dlo gate starts mpirun itself", "dlo gate",
                          "start it without mpirun"),
                   ExitCode::kUsage);
  }
  const Result<Path> mpirun = platform::find_program(arguments.mpirun);
  if (!mpirun.ok()) {
    Refusal refusal = mpirun.refusal();
    refusal.action = "install Open MPI, or pass --mpirun PATH";
    return refused(context, refusal, ExitCode::kMachineLacks);
  }
  Result<ScenarioSet> set =
      load_scenarios(context.files, scenario_paths(arguments), arguments.seed);
  if (!set.ok()) {
    return refused(context, set.refusal(), ExitCode::kFellShort);
  }
  const GatePlan plan =
      plan_gate(set->scenarios, arguments.worlds, count_accelerators(engine::find_accelerators()));
  if (plan.jobs.empty()) {
    return refused(context,
                   refuse(codes::kWorldTooSmall, "no scenario fits a world of the gate", "--worlds",
                          "name larger worlds"),
                   ExitCode::kUsage);
  }
  const Path out = arguments.out;
  if (Status writable = prepare_output(context.files, out); !writable) {
    return refused(context, writable.refusal(), ExitCode::kFellShort);
  }
  GateRecord record;
  record.run = gate_run_info(context, arguments);
  record.jobs = run_jobs(context, plan, make_settings(context, arguments, *mpirun));
  record.skipped = plan.skipped;
  record.faults = count_faults(plan.jobs, record.jobs);
  record.run.duration_s =
      static_cast<double>(context.clock.now() - started) / static_cast<double>(kSecond);
  if (Status written = write_gate(context.files, out, record); !written) {
    return refused(context, written.refusal(), ExitCode::kFellShort);
  }
  context.out << gate_summary(record) << "gate: " << (out / "gate.md").string() << std::endl;
  return record.passed() ? ExitCode::kAllAsExpected : ExitCode::kFellShort;
}

}  // namespace dlo::harness
