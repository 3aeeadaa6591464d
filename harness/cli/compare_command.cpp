#include "harness/cli/compare_command.h"

#include <ostream>

#include "harness/compare.h"

namespace dlo::harness {

ExitCode run_compare(const CommandContext& context, const Arguments& arguments) {
  if (!context.is_rank_zero()) {
    return ExitCode::kAllAsExpected;
  }
  std::vector<Results> results;
  for (const std::string& path : arguments.paths) {
    Result<Results> read = read_results(context.files, path);
    if (!read) {
      say_error(context, read.refusal());
      return ExitCode::kFellShort;
    }
    results.push_back(*std::move(read));
  }
  const Comparison comparison = compare_results(results.at(0), results.at(1));
  context.out << (arguments.json ? comparison_json(comparison).dump(1) + "\n"
                                 : comparison_text(comparison));
  return ExitCode::kAllAsExpected;
}

}  // namespace dlo::harness
