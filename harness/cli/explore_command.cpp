#include "harness/cli/explore_command.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/codes.h"
#include "engine/simulation/exploration.h"
#include "engine/simulation/fault_loop.h"
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
  const auto simulated = result.failure      ? result.failure->shrunk
                         : request.simulated ? *request.simulated
                                             : engine::draw_case(request.first_seed);
  const auto seed = result.failure ? result.failure->shrunk_seed : request.first_seed;
  return platform::write_text_atomically(context.files, arguments.timeline,
                                         engine::replay_timeline(simulated, seed).perfetto_json());
}

ExitCode explore_schedules(const CommandContext& context, const Arguments& arguments,
                           const engine::ExploreRequest& request) {
  platform::ThreadExecutor executor(
      static_cast<std::size_t>(read_machine(context.files).cores.value_or(1)));
  const auto result =
      engine::explore(executor, context.clock, request, [&context](std::uint64_t seeds) {
        if (context.terminal) {
          context.err << "\r" << seeds << " seeds" << std::flush;
        }
      });
  const double seconds = static_cast<double>(result.elapsed) / static_cast<double>(kSecond);
  context.out << fmt::format(
      "{} seeds, {} forwards, {} events in {:.1f} s on {} threads: {:.0f} seeds/s, {:.0f} "
      "forwards/s "
      "a thread; trace {:016x}\n",
      result.seeds_run, result.forwards_run, result.events_run, seconds, executor.worker_count(),
      static_cast<double>(result.seeds_run) / seconds,
      static_cast<double>(result.forwards_run) / seconds /
          static_cast<double>(executor.worker_count()),
      result.trace_digest);
  if (!arguments.timeline.empty()) {
    if (Status written = write_timeline(context, arguments, request, result); !written.ok()) {
      say_error(context, written.refusal());
      return ExitCode::kFellShort;
    }
  }
  if (result.failure) {
    print_failure(context, *result.failure);
    return ExitCode::kFellShort;
  }
  return ExitCode::kAllAsExpected;
}

ExitCode explore_faults(const CommandContext& context, const engine::ExploreRequest& request) {
  const auto runs = request.last_seed - request.first_seed + 1;
  auto summary = engine::fail_at_random(request.first_seed, runs);
  const auto cases = request.simulated ? std::vector{*request.simulated} : engine::fault_cases();
  for (const auto& simulated : cases) {
    summary += engine::fail_every_call(simulated, request.first_seed);
  }
  context.out << fmt::format(
      "{} faults injected: {} runs survived, {} ended by name, {} hung, {} with different bytes, "
      "{} "
      "leaked, {} otherwise wrong\n",
      summary.injected, summary.survived, summary.ended_by_name, summary.hung,
      summary.different_bytes, summary.leaked, summary.otherwise_wrong);
  for (const auto& [call, count] : summary.injected_by_call) {
    context.out << fmt::format("  {:<20} failed {} times one by one\n", call, count);
  }
  for (const auto& problem : summary.first_problems) {
    context.out << problem << '\n';
  }
  return summary.clean() ? ExitCode::kAllAsExpected : ExitCode::kFellShort;
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
    return explore_faults(context, *request);
  }
  return explore_schedules(context, arguments, *request);
}

}  // namespace dlo::harness
