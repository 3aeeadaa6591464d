#include "harness/cli/explore_command.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/codes.h"
#include "engine/simulation/exploration.h"
#include "harness/build_info.h"
#include "harness/cli/explore_faults.h"
#include "harness/machine.h"
#include "platform/cpu/thread_executor.h"

namespace dlo::harness {
namespace {

constexpr std::size_t kTimelineColumns = 100;

struct SeedRange {
  std::uint64_t first = 1;
  std::uint64_t last = 1;
};

// "A..B", both inclusive, or one number.
Result<SeedRange> parse_seeds(const std::string& text) {
  const auto wrong = [&text] {
    return refuse(codes::kInvalidValue, "'" + text + "' is no range of seeds", "--seeds",
                  "write A..B with A <= B, or one number");
  };
  const auto dots = text.find("..");
  const std::string head = text.substr(0, dots);
  const std::string tail = dots == std::string::npos ? head : text.substr(dots + 2);
  SeedRange range;
  const auto parse = [](const std::string& word, std::uint64_t& number) {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    return error == std::errc() && end == word.data() + word.size();
  };
  if (!parse(head, range.first) || !parse(tail, range.last) || range.first > range.last) {
    return wrong();
  }
  return range;
}

Result<engine::ExploreRequest> parse_request(const Arguments& arguments) {
  const auto seeds = parse_seeds(arguments.seeds);
  if (!seeds.ok()) {
    return seeds.refusal();
  }
  engine::ExploreRequest request;
  request.first_seed = seeds->first;
  request.last_seed = seeds->last;
  if (arguments.minutes > 0) {
    request.time_limit =
        static_cast<Nanoseconds>(arguments.minutes * 60.0 * static_cast<double>(kSecond));
  }
  if (!arguments.case_json.empty()) {
    const auto json = nlohmann::json::parse(arguments.case_json, nullptr, false);
    auto simulated = engine::case_from_json(json);
    if (!simulated.ok()) {
      return simulated.refusal();
    }
    request.simulated = *std::move(simulated);
  }
  if (arguments.explore_ranks && arguments.explore_scenario == "faults") {
    return refuse(codes::kInvalidValue, "--ranks with the scenario of failing calls", "--ranks",
                  "give --case with the ranks");
  }
  request.ranks = arguments.explore_ranks;
  return request;
}

void print_failure(const CommandContext& context, const engine::ExploreFailure& failure) {
  context.out
      << "seed " << failure.seed << " failed: " << failure.simulated.text() << '\n'
      << failure.violation << "\n\nshrunk to: " << failure.shrunk.text() << '\n'
      << failure.shrunk_violation << "\n\nrepeat it with\n  " << failure.command() << "\n\n"
      << engine::replay_timeline(failure.shrunk, failure.shrunk_seed).ascii(kTimelineColumns);
}

Status write_timeline(const CommandContext& context, const Arguments& arguments,
                      const engine::ExploreRequest& request, const engine::ExploreResult& result) {
  const auto simulated =
      result.failure ? result.failure->shrunk : request.case_of(request.first_seed);
  const auto seed = result.failure ? result.failure->shrunk_seed : request.first_seed;
  return platform::write_text_atomically(context.files, arguments.timeline,
                                         engine::replay_timeline(simulated, seed).perfetto_json());
}

Status write_json(const CommandContext& context, const Arguments& arguments,
                  const nlohmann::json& json) {
  if (arguments.json_file.empty()) {
    return {};
  }
  nlohmann::json whole = json;
  whole["command"] = context.command_line;
  whole["commit"] = commit_text();
  return platform::write_text_atomically(context.files, arguments.json_file, whole.dump(1) + "\n");
}

nlohmann::json result_to_json(const engine::ExploreResult& result, std::size_t threads) {
  const double seconds = static_cast<double>(result.elapsed) / static_cast<double>(kSecond);
  return {{"seeds", result.seeds_run},
          {"forwards", result.forwards_run},
          {"events", result.events_run},
          {"seconds", seconds},
          {"threads", threads},
          {"seeds_per_s", static_cast<double>(result.seeds_run) / seconds},
          {"forwards_per_s_and_thread",
           static_cast<double>(result.forwards_run) / seconds / static_cast<double>(threads)},
          {"trace", fmt::format("{:016x}", result.trace_digest)},
          {"failed", result.failure.has_value()}};
}

std::size_t threads_of(const CommandContext& context, const Arguments& arguments) {
  return arguments.threads > 0
             ? arguments.threads
             : static_cast<std::size_t>(read_machine(context.files).cores.value_or(1));
}

ExitCode explore_schedules(const CommandContext& context, const Arguments& arguments,
                           const engine::ExploreRequest& request) {
  platform::ThreadExecutor executor(threads_of(context, arguments));
  const auto result =
      engine::explore(executor, context.clock, request, [&context](std::uint64_t seeds) {
        if (context.terminal) {
          context.err << "\r" << seeds << " seeds" << std::flush;
        }
      });
  const auto json = result_to_json(result, executor.worker_count());
  context.out << fmt::format(
      "{} seeds, {} forwards, {} events in {:.1f} s on {} threads: {:.0f} seeds/s, {:.0f} "
      "forwards/s a thread; trace {:016x}\n",
      result.seeds_run, result.forwards_run, result.events_run, json.at("seconds").get<double>(),
      executor.worker_count(), json.at("seeds_per_s").get<double>(),
      json.at("forwards_per_s_and_thread").get<double>(), result.trace_digest);
  Status written = write_json(context, arguments, json);
  if (written.ok() && !arguments.timeline.empty()) {
    written = write_timeline(context, arguments, request, result);
  }
  if (!written.ok()) {
    say_error(context, written.refusal());
    return ExitCode::kFellShort;
  }
  if (result.failure) {
    print_failure(context, *result.failure);
    return ExitCode::kFellShort;
  }
  return ExitCode::kAllAsExpected;
}

ExitCode explore_faults(const CommandContext& context, const Arguments& arguments,
                        const engine::ExploreRequest& request) {
  const auto summary = run_fault_loops(context, request);
  if (!summary.ok()) {
    say_error(context, summary.refusal());
    return ExitCode::kFellShort;
  }
  context.out << fault_text(*summary);
  if (Status written = write_json(context, arguments, engine::summary_to_json(*summary));
      !written.ok()) {
    say_error(context, written.refusal());
    return ExitCode::kFellShort;
  }
  return summary->clean() ? ExitCode::kAllAsExpected : ExitCode::kFellShort;
}

}  // namespace

ExitCode run_explore(const CommandContext& context, const Arguments& arguments) {
  if (!context.is_rank_zero()) {
    return ExitCode::kAllAsExpected;
  }
  const auto request = parse_request(arguments);
  if (!request.ok()) {
    say_error(context, request.refusal());
    return ExitCode::kUsage;
  }
  if (arguments.explore_scenario == "faults") {
    return explore_faults(context, arguments, *request);
  }
  return explore_schedules(context, arguments, *request);
}

}  // namespace dlo::harness
