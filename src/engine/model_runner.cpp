#include "engine/model_runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/codes.h"
#include "base/sha256.h"
#include "config/validate.h"
#include "engine/resource_watch.h"
#include "engine/run_report_json.h"
#include "engine/throughput_rules.h"
#include "engine/throughput_run.h"
#include "engine/worker.h"
#include "platform/posix/steady_clock.h"

namespace dlo::engine {

namespace {

using nlohmann::json;

// Ranks outside the topology wait this much longer than any rank inside may take for one wait: the
// members' own deadlines end a stuck run first.
constexpr std::string_view kServed = "served";
constexpr std::string_view kMeasured = "measured";
constexpr double kMergeTimeoutFactor = 20.0;
// Several looks of a rank at its peers.
constexpr Nanoseconds kStandingTimeout = kSecond;
constexpr Nanoseconds kStandingPoll = 10 * kMillisecond;

Nanoseconds to_nanoseconds(double seconds) {
  return static_cast<Nanoseconds>(seconds * static_cast<double>(kSecond));
}

RunReport rejected(std::vector<Refusal> violations) {
  RunReport report;
  report.outcome = Outcome::kRejected;
  report.code = violations.front().code;
  report.message = violations.front().message();
  report.violations = std::move(violations);
  return report;
}

RunReport failed_closed(const Refusal& refusal) {
  RunReport report;
  report.outcome = Outcome::kFailsClosed;
  report.code = refusal.code;
  report.message = refusal.message();
  return report;
}

comm::Topology topology_of(const config::ParallelConfig& parallel) {
  return comm::Topology{static_cast<int>(parallel.data_parallel_size),
                        static_cast<int>(config::sequence_size(parallel)),
                        static_cast<int>(parallel.tensor_parallel_size)};
}

// What one rank tells the others when it is done.
struct RankEnding {
  Status status;
  std::optional<RankReport> report;  // none for a rank outside the topology
  telemetry::ProcessResources left;  // on its device
};

json ending_to_json(const RankEnding& ending) {
  json object{{"report", ending.report ? rank_report_to_json(*ending.report) : json(nullptr)},
              {"ok", ending.status.ok()}};
  if (!ending.status.ok()) {
    const auto& refusal = ending.status.refusal();
    object["refusal"] = {refusal.code, refusal.what, refusal.where, refusal.action};
  }
  return object;
}

// The report that every rank derives alike from all endings.
RunReport merge(const std::vector<std::string>& endings, bool keep_ranks) {
  RunReport report;
  std::vector<RankReport> ranks;
  for (const auto& text : endings) {
    const auto ending = json::parse(text);
    if (!ending.at("ok") && report.outcome != Outcome::kFailsClosed) {
      const auto& parts = ending.at("refusal");
      report = failed_closed(Refusal{parts[0], parts[1], parts[2], parts[3]});
    }
    if (!ending.at("report").is_null()) {
      ranks.push_back(rank_report_from_json(ending.at("report")));
    }
  }
  std::vector<RequestDigest> outputs;
  for (const auto& rank : ranks) {
    outputs.insert(outputs.end(), rank.outputs.begin(), rank.outputs.end());
    if (report.outcome == Outcome::kRuns && !rank.effective.downgrades.empty()) {
      const auto& downgrade = rank.effective.downgrades.front();
      report.outcome = Outcome::kFallsBack;
      report.code = downgrade.code;
      report.message = downgrade.reason;
    }
  }
  if (report.outcome != Outcome::kFailsClosed) {
    std::sort(outputs.begin(), outputs.end(),
              [](const auto& a, const auto& b) { return a.request < b.request; });
    Sha256 digest;
    for (const auto& output : outputs) {
      digest.update(fmt::format("{} {}\n", output.request, output.sha256));
    }
    report.output_digest = digest.hex_digest();
  }
  if (keep_ranks) {
    report.ranks = std::move(ranks);
  }
  return report;
}

Status meet(comm::World& world, std::string_view where, Deadline deadline) {
  const auto met = world.control().exchange(where, "", deadline);
  return met.ok() ? Status{} : Status{met.refusal()};
}

// Whether they met or not, each measures what it can; the exchange at the end names who is gone.
void meet_to_measure(comm::World& world, const RunRequest& request, std::string_view where) {
  if (request.measure_together) {
    platform::SteadyClock clock;
    const auto timeout = to_nanoseconds(request.platform.wait_timeout_s);
    static_cast<void>(meet(world, where, Deadline::after(clock.now(), timeout)));
  }
}

RankEnding run_member(const RunEnvironment& environment, const RunRequest& request,
                      const config::OffloadConfig& config, const comm::Topology& topology) {
  if (request.throughput) {
    auto ending = run_throughput(environment, request, topology);
    return {ending.status, std::move(ending.report), ending.left};
  }
  Worker worker(environment, request, config, topology);
  Status status = worker.start();
  if (status.ok()) {
    status = worker.serve();
  }
  meet_to_measure(*environment.world, request, kServed);
  worker.measure();
  meet_to_measure(*environment.world, request, kMeasured);
  worker.shutdown();
  return {status, worker.report(), worker.left_on_device()};
}

// A failure of a rank that shares weights with this one, if there is one: the process of a peer
// that ended may be noted by another thread a moment later than the exchange that missed it.
std::optional<Failure> standing_failure(comm::World& world, platform::Clock& clock) {
  const Deadline deadline = Deadline::after(clock.now(), kStandingTimeout);
  auto failure = world.failure_signal().poll();
  while (!failure && !deadline.expired(clock.now())) {
    clock.sleep(kStandingPoll);
    failure = world.failure_signal().poll();
  }
  return failure;
}

// The report of a rank that could not ask the others any more: its own ending counts. One that did
// its work fails all the same when a rank of its weight group is gone; an independent replica does
// not.
RunReport torn_report(comm::World& world, platform::Clock& clock, RankEnding ending,
                      const Refusal& lost) {
  auto report = failed_closed(ending.status.ok() ? lost : ending.status.refusal());
  report.world_usable = false;
  const bool shares = ending.report.has_value() && !ending.report->weight_group.empty();
  if (ending.status.ok() && shares) {
    if (const auto failure = standing_failure(world, clock)) {
      ending.report->code = failure->code;
      ending.report->message = failure->refusal().message();
    }
  }
  report.own = std::move(ending.report);
  return report;
}

// What ranks must have in common before anything is loaded.
std::string run_digest(const RunEnvironment& environment, const RunRequest& request) {
  return fmt::format("run {}, build {}", sha256_hex(request_to_json(request).dump()).substr(0, 16),
                     environment.build_digest);
}

RunReport failed_start(const Refusal& refusal) {
  auto report = failed_closed(refusal);
  report.world_usable = refusal.code == codes::kRanksDisagree;
  return report;
}

// Rules and topology, alike on every rank. Null when the run may start.
std::optional<RunReport> refuse_early(const RunEnvironment& environment, const RunRequest& request,
                                      const config::Validation& validation) {
  if (!validation.ok()) {
    return rejected(validation.violations);
  }
  if (request.throughput) {
    if (auto refused = refuse_arms(request); !refused.empty()) {
      return rejected(std::move(refused));
    }
  }
  const int wanted = topology_of(request.parallel).size();
  if (wanted > environment.world->size()) {
    return rejected({refuse(codes::kWorldTooSmall,
                            fmt::format("the topology needs {} ranks, the world has {}", wanted,
                                        environment.world->size()),
                            "topology", fmt::format("start with mpirun -np {}", wanted))});
  }
  return std::nullopt;
}

}  // namespace

RunReport run(const RunEnvironment& environment, const RunRequest& request) {
  platform::SteadyClock clock;
  auto& world = *environment.world;
  const auto timeout = to_nanoseconds(request.platform.wait_timeout_s);
  const auto agreed =
      comm::agree(world.control(), "options, topology and build", run_digest(environment, request),
                  codes::kRanksDisagree, Deadline::after(clock.now(), timeout));
  if (!agreed.ok()) {
    return failed_start(agreed.refusal());
  }
  const auto validation = config::validate(request.options, request.parallel);
  if (auto early = refuse_early(environment, request, validation)) {
    return *early;
  }
  // Between two exchanges no rank is at work, also not one that shares this process.
  ResourceWatch resources(*environment.files, environment.temporary_folders, clock);
  resources.begin();
  if (auto met = meet(world, "begin", Deadline::after(clock.now(), timeout)); !met.ok()) {
    return failed_start(met.refusal());
  }
  const auto topology = topology_of(request.parallel);
  RankEnding ending;
  if (world.rank() < topology.size()) {
    ending = run_member(environment, request, validation.config, topology);
  } else {
    meet_to_measure(world, request, kServed);
    meet_to_measure(world, request, kMeasured);
  }
  const auto merge_timeout =
      static_cast<Nanoseconds>(static_cast<double>(timeout) * kMergeTimeoutFactor);
  // A rank that cannot meet the others any more has its own count all the same.
  const auto met = meet(world, "end", Deadline::after(clock.now(), merge_timeout));
  if (ending.report) {
    ending.report->resources = resources.end(ending.left);
  }
  auto endings = met.ok() ? world.control().exchange("report", ending_to_json(ending).dump(),
                                                     Deadline::after(clock.now(), merge_timeout))
                          : Result<std::vector<std::string>>(met.refusal());
  if (!endings.ok()) {
    return torn_report(world, clock, std::move(ending), endings.refusal());
  }
  world.watch_failures_of({});
  world.reset_failures();
  auto report = merge(*endings, world.rank() == 0);
  report.own = std::move(ending.report);
  return report;
}

}  // namespace dlo::engine
