// Owns: the command line of dlo: subcommands, flags, help, and errors with the nearest name.
// Must not own: what subcommands do. Pure: the same words give the same answer on every rank.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "config/offload_options.h"
#include "harness/cli/plan_arguments.h"
#include "harness/cli/predict_arguments.h"

namespace dlo::harness {

enum class Subcommand {
  kVersion,
  kHelp,
  kDoctor,
  kCheckpointCreate,
  kCheckpointInspect,
  kRun,
  kSweep,
  kExplore,
  kGate,
  kPredict,
  kReport,
  kCompare,
  kPlan
};

struct Arguments {
  Subcommand subcommand = Subcommand::kHelp;
  std::string help;  // with kHelp

  // Scenarios, the folder of a report or checkpoint, or two folders to compare.
  std::vector<std::string> paths;
  std::string out;
  std::string name_filter;
  std::string instance;  // of `run`: only the one with exactly this name
  std::uint64_t seed = 0;
  bool list = false;
  bool json = false;

  // Of `gate`.
  std::vector<int> worlds{1, 2, 4};
  double job_timeout_s = 600;
  std::string mpirun = "mpirun";

  std::string preset;
  std::string dtype = "F32";
  std::optional<std::int64_t> blocks;

  // `explore`.
  std::string explore_scenario = "schedules";
  std::string seeds = "1..1000";
  std::string case_json;
  std::optional<std::uint32_t> explore_ranks;  // of every drawn case
  std::string timeline;
  std::string json_file;
  std::size_t threads = 0;  // 0: one a core
  double minutes = 0;

  PredictArguments predict;
  PlanArguments plan;

  // Offload options given on the command line of `run`: option name and value, in order.
  std::vector<std::pair<std::string, std::string>> overrides;
};

// `words` without the program's name. Codes: unknown_option, invalid_value.
[[nodiscard]] Result<Arguments> parse_arguments(const std::vector<std::string>& words);

// Applies overrides in order. Codes: invalid_value.
[[nodiscard]] Status apply_overrides(
    const std::vector<std::pair<std::string, std::string>>& overrides,
    config::OffloadOptions& options);

}  // namespace dlo::harness
