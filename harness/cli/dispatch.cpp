#include "harness/cli/dispatch.h"

#include <exception>
#include <iostream>
#include <ostream>

#include "base/codes.h"
#include "harness/build_info.h"
#include "harness/cli/arguments.h"
#include "harness/cli/checkpoint_command.h"
#include "harness/cli/compare_command.h"
#include "harness/cli/explore_command.h"
#include "harness/cli/gate_command.h"
#include "harness/cli/plan_command.h"
#include "harness/cli/predict_command.h"
#include "harness/cli/scenario_commands.h"
#include "harness/doctor.h"
#include "harness/machine.h"
#include "harness/report_files.h"

namespace dlo::harness {
namespace {

ExitCode run_doctor(const CommandContext& context) {
  const MachineFacts facts = read_machine(context.files);
  context.out << doctor_text(
      facts, WorldFacts{.kind = std::string(context.world.kind()), .size = context.world.size()},
      engine::find_accelerators());
  return machine_suffices(facts) ? ExitCode::kAllAsExpected : ExitCode::kMachineLacks;
}

ExitCode regenerate_report(const CommandContext& context, const Arguments& arguments) {
  if (!context.is_rank_zero()) {
    return ExitCode::kAllAsExpected;
  }
  const platform::Path directory = arguments.paths.front();
  Result<Results> results = read_results(context.files, directory);
  if (!results) {
    say_error(context, results.refusal());
    return ExitCode::kFellShort;
  }
  if (Status written = write_reports(context.files, directory, *results); !written) {
    say_error(context, written.refusal());
    return ExitCode::kFellShort;
  }
  context.out << "report: " << (directory / kHtmlFileName).string() << '\n';
  return ExitCode::kAllAsExpected;
}

ExitCode run_subcommand(const CommandContext& context, const Arguments& arguments) {
  switch (arguments.subcommand) {
    case Subcommand::kVersion:
      context.out << version_text() << '\n';
      return ExitCode::kAllAsExpected;
    case Subcommand::kHelp:
      context.out << arguments.help;
      return ExitCode::kAllAsExpected;
    case Subcommand::kDoctor:
      return run_doctor(context);
    case Subcommand::kCheckpointCreate:
      return create_checkpoint(context, arguments);
    case Subcommand::kCheckpointInspect:
      return inspect_checkpoint(context, arguments);
    case Subcommand::kRun:
    case Subcommand::kSweep:
      return run_scenarios(context, arguments);
    case Subcommand::kGate:
      return run_gate(context, arguments);
    case Subcommand::kExplore:
      return run_explore(context, arguments);
    case Subcommand::kPredict:
      return run_predict(context, arguments);
    case Subcommand::kReport:
      return regenerate_report(context, arguments);
    case Subcommand::kCompare:
      return run_compare(context, arguments);
    case Subcommand::kPlan:
      return run_plan(context, arguments);
  }
  throw LogicError("subcommand without a handler");
}

// Ranks that were started with other words would wait for each other in other places.
Status agree_on_start(const CommandContext& context, const std::vector<std::string>& words) {
  std::string text = build_digest();
  for (const std::string& word : words) {
    text += '\0' + word;
  }
  return comm::agree(context.world.control(), "command line and build", text, codes::kRanksDisagree,
                     Deadline::after(context.clock.now(), kStepTimeout));
}

ExitCode dispatch_checked(const CommandContext& context, const std::vector<std::string>& words) {
  if (Status same = agree_on_start(context, words); !same) {
    say_error(context, same.refusal());
    return same.refusal().code == codes::kRanksDisagree ? ExitCode::kUsage : ExitCode::kFellShort;
  }
  const Result<Arguments> arguments = parse_arguments(words);
  if (!arguments) {
    say_error(context, arguments.refusal());
    return ExitCode::kUsage;
  }
  return run_subcommand(context, *arguments);
}

}  // namespace

ExitCode dispatch(const CommandContext& context, const std::vector<std::string>& words) {
  std::string code(codes::kInternal);
  std::string text;
  try {
    return dispatch_checked(context, words);
  } catch (const Error& error) {
    code = error.code();
    text = error.what();
  } catch (const std::exception& error) {
    text = error.what();
  }
  // Said by the rank that it happened on: rank 0 may know nothing of it.
  std::cerr << "dlo: rank " << context.world.rank() << ": " << text << std::endl;
  context.world.failure_signal().raise(Failure{.code = code,
                                               .rank = context.world.rank(),
                                               .block = -1,
                                               .operation = "command",
                                               .detail = text});
  return ExitCode::kFellShort;
}

}  // namespace dlo::harness
