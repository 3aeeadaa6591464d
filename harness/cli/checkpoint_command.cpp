#include "harness/cli/checkpoint_command.h"

#include <fmt/format.h>

#include <ostream>

#include "base/bytes.h"
#include "host_weights/safetensors/inspect.h"
#include "host_weights/seeded_checkpoint/seeded_checkpoint.h"
#include "platform/cpu/thread_executor.h"

namespace dlo::harness {

using host_weights::SeededCheckpointOptions;
using host_weights::SeededCheckpointReport;

ExitCode create_checkpoint(const CommandContext& context, const Arguments& arguments) {
  auto dtype = host_weights::parse_stored_dtype(arguments.dtype);
  auto preset = host_weights::wan_preset(arguments.preset);
  if (!dtype || !preset) {
    say_error(context, dtype.ok() ? preset.refusal() : dtype.refusal());
    return ExitCode::kUsage;
  }
  if (!context.is_rank_zero()) {
    return ExitCode::kAllAsExpected;
  }
  SeededCheckpointOptions options;
  options.preset = arguments.preset;
  options.blocks = arguments.blocks;
  options.seed = arguments.seed;
  options.dtype = *dtype;
  options.out = arguments.out;
  platform::ThreadExecutor executor(0);
  const Nanoseconds started = context.clock.now();
  Result<SeededCheckpointReport> report =
      host_weights::create_seeded_checkpoint(context.files, executor, options);
  if (!report) {
    say_error(context, report.refusal());
    return ExitCode::kFellShort;
  }
  const double seconds =
      static_cast<double>(context.clock.now() - started) / static_cast<double>(kSecond);
  context.out << fmt::format(
      "{}: {} tensors, {} parameters, {} in {} shard{}, seed {}, {} ({:.2f} s, {:.2f} GB/s)\n",
      arguments.out, report->tensor_count, report->parameter_count,
      format_bytes(report->file_bytes), report->shard_count, report->shard_count == 1 ? "" : "s",
      arguments.seed, arguments.dtype, seconds,
      static_cast<double>(report->file_bytes) / 1e9 / (seconds > 0 ? seconds : 1));
  return ExitCode::kAllAsExpected;
}

ExitCode inspect_checkpoint(const CommandContext& context, const Arguments& arguments) {
  if (!context.is_rank_zero()) {
    return ExitCode::kAllAsExpected;
  }
  platform::ThreadExecutor executor(0);
  auto report = host_weights::inspect(context.files, executor, arguments.paths.front());
  if (arguments.json) {
    context.out << (report.ok() ? host_weights::inspect_json(*report)
                                : host_weights::inspect_error_json(report.refusal()))
                       .dump(1)
                << '\n';
  } else if (report.ok()) {
    context.out << host_weights::inspect_text(*report);
  } else {
    say_error(context, report.refusal());
  }
  return report.ok() ? ExitCode::kAllAsExpected : ExitCode::kFellShort;
}

}  // namespace dlo::harness
