#include "harness/cli/checkpoint_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/bytes.h"
#include "host_weights/safetensors/inspect.h"
#include "host_weights/seeded_checkpoint/seeded_checkpoint.h"
#include "platform/cpu/thread_executor.h"

namespace dlo::harness {
namespace {

using host_weights::SeededCheckpointOptions;
using host_weights::SeededCheckpointReport;

// The 14B preset is 28 GB; the other ranks wait for rank 0 as long as it lives.
constexpr Nanoseconds kCheckpointTimeout = 3600 * kSecond;

void print_created(const CommandContext& context, const Arguments& arguments,
                   const SeededCheckpointReport& report, Nanoseconds took) {
  const double seconds =
      static_cast<double>(std::max<Nanoseconds>(took, 1)) / static_cast<double>(kSecond);
  context.out << fmt::format(
      "{}: {} tensors, {} parameters, {} in {} shard{}, seed {}, {} ({:.2f} s, {:.2f} GB/s)\n",
      arguments.out, report.tensor_count, report.parameter_count, format_bytes(report.file_bytes),
      report.shard_count, report.shard_count == 1 ? "" : "s", arguments.seed, arguments.dtype,
      seconds, static_cast<double>(report.file_bytes) / 1e9 / seconds);
}

Status create_on_rank_zero(const CommandContext& context, const Arguments& arguments,
                           host_weights::StoredDType dtype) {
  SeededCheckpointOptions options;
  options.preset = arguments.preset;
  options.blocks = arguments.blocks;
  options.seed = arguments.seed;
  options.dtype = dtype;
  options.out = arguments.out;
  platform::ThreadExecutor executor(0);
  const Nanoseconds started = context.clock.now();
  Result<SeededCheckpointReport> report =
      host_weights::create_seeded_checkpoint(context.files, executor, options);
  if (!report) {
    return report.refusal();
  }
  print_created(context, arguments, *report, context.clock.now() - started);
  return {};
}

Status inspect_on_rank_zero(const CommandContext& context, const Arguments& arguments) {
  platform::ThreadExecutor executor(0);
  auto report = host_weights::inspect(context.files, executor, arguments.paths.front());
  if (arguments.json) {
    context.out << (report.ok() ? host_weights::inspect_json(*report)
                                : host_weights::inspect_error_json(report.refusal()))
                       .dump(1)
                << '\n';
  } else if (report.ok()) {
    context.out << host_weights::inspect_text(*report);
  }
  return report.ok() ? Status{} : Status{report.refusal()};
}

// Rank 0 works, the others wait; all end alike.
ExitCode after_rank_zero(const CommandContext& context, const Status& mine, bool say) {
  const Status agreed = comm::vote(context.world.control(), "checkpoint", mine,
                                   Deadline::after(context.clock.now(), kCheckpointTimeout));
  if (!agreed && say) {
    say_error(context, mine.ok() ? agreed.refusal() : mine.refusal());
  }
  return agreed.ok() ? ExitCode::kAllAsExpected : ExitCode::kFellShort;
}

}  // namespace

ExitCode create_checkpoint(const CommandContext& context, const Arguments& arguments) {
  auto dtype = host_weights::parse_stored_dtype(arguments.dtype);
  auto preset = host_weights::seeded_model(arguments.preset, arguments.blocks);
  if (!dtype || !preset) {
    say_error(context, dtype.ok() ? preset.refusal() : dtype.refusal());
    return ExitCode::kUsage;
  }
  const Status mine =
      context.is_rank_zero() ? create_on_rank_zero(context, arguments, *dtype) : Status{};
  return after_rank_zero(context, mine, /*say=*/true);
}

ExitCode inspect_checkpoint(const CommandContext& context, const Arguments& arguments) {
  const Status mine = context.is_rank_zero() ? inspect_on_rank_zero(context, arguments) : Status{};
  // With --json the error is part of what is printed.
  return after_rank_zero(context, mine, !arguments.json);
}

}  // namespace dlo::harness
