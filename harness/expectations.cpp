#include "harness/expectations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "config/parallel_config.h"
#include "engine/run_report_json.h"
#include "harness/fault_checks.h"
#include "harness/scenario_faults.h"

namespace dlo::harness {
namespace {

using engine::Outcome;
using engine::RankReport;
using engine::RunReport;

using Findings = std::vector<std::string>;

std::string outcome_with_code(Outcome outcome, const std::string& code) {
  const std::string_view name = engine::outcome_name(outcome);
  return code.empty() ? std::string(name) : fmt::format("{} ({})", name, code);
}

void check_outcome(const Scenario& scenario, const RunReport& report, Findings& findings) {
  const Expectation& expected = scenario.expected;
  if (report.outcome != expected.outcome || report.code != expected.code) {
    std::string text =
        fmt::format("expected {}, got {}", outcome_with_code(expected.outcome, expected.code),
                    outcome_with_code(report.outcome, report.code));
    if (!report.message.empty()) {
      text += ": " + report.message;
    }
    findings.push_back(std::move(text));
  }
}

contracts::Transfer requested(const Scenario& scenario) {
  if (!scenario.streams()) {
    return contracts::Transfer::kResident;
  }
  if (scenario.options.dlo_use_allgather) {
    return contracts::Transfer::kAllGather;
  }
  return scenario.options.dlo_checkpoint_mmap ? contracts::Transfer::kStaged
                                              : contracts::Transfer::kRankLocal;
}

contracts::Backing requested_backing(const Scenario& scenario) {
  return scenario.streams() && scenario.options.dlo_checkpoint_mmap
             ? contracts::Backing::kCheckpointMmap
             : contracts::Backing::kOrdinary;
}

// A run that quietly did something else than it was asked for would pass every other check.
void check_effective(const Scenario& scenario, const RunReport& report, Findings& findings) {
  for (const RankReport& rank : report.ranks) {
    const bool downgraded = !rank.effective.downgrades.empty();
    if (!downgraded && rank.effective.transfer != requested(scenario)) {
      findings.push_back(fmt::format("rank {} was asked for {} and did {} without saying why",
                                     rank.rank, contracts::transfer_name(requested(scenario)),
                                     contracts::transfer_name(rank.effective.transfer)));
    }
    if (!downgraded && rank.effective.backing != requested_backing(scenario)) {
      findings.push_back(fmt::format("rank {} was to have backing {} and has {} without saying why",
                                     rank.rank,
                                     contracts::backing_name(requested_backing(scenario)),
                                     contracts::backing_name(rank.effective.backing)));
    }
    if (downgraded != (report.outcome == Outcome::kFallsBack)) {
      findings.push_back(fmt::format("rank {} {} a downgrade, the outcome is {}", rank.rank,
                                     downgraded ? "reports" : "reports no",
                                     engine::outcome_name(report.outcome)));
    }
  }
}

void check_ranks(const Scenario& scenario, const RunReport& report, Findings& findings) {
  const auto wanted = config::world_size(scenario.parallel);
  if (static_cast<std::int64_t>(report.ranks.size()) != wanted) {
    findings.push_back(
        fmt::format("{} ranks reported, the topology has {}", report.ranks.size(), wanted));
  }
  for (const RankReport& rank : report.ranks) {
    const engine::TrafficLedger& traffic = rank.traffic;
    if (!traffic.matches_plan()) {
      findings.push_back(fmt::format(
          "rank {}: ledger differs from the plan: H2D {} of {} bytes, gathered {} of {} bytes",
          rank.rank, traffic.h2d_bytes, traffic.h2d_bytes_planned, traffic.gather_bytes,
          traffic.gather_bytes_planned));
    }
    if (rank.owned.device_peak > rank.owned.device_limit) {
      findings.push_back(fmt::format("rank {}: device peak of {} bytes is above the limit of {}",
                                     rank.rank, rank.owned.device_peak, rank.owned.device_limit));
    }
    if (rank.owned.host_private_now > rank.owned.host_private_limit) {
      findings.push_back(fmt::format("rank {}: owns {} host bytes, the mode promises {}", rank.rank,
                                     rank.owned.host_private_now, rank.owned.host_private_limit));
    }
    if (scenario.streams() && rank.owned.component_now > 0) {
      findings.push_back(fmt::format(
          "rank {}: {} device bytes of a component that comes and goes are left behind its stage",
          rank.rank, rank.owned.component_now));
    }
  }
}

// Ranks that run the same tensors map the same files, so the node keeps one copy of their pages.
void check_mapped_files(const RunReport& report, Findings& findings) {
  std::map<int, const RankReport*> first_of;  // by TP coordinate
  for (const RankReport& rank : report.ranks) {
    const bool mapped = rank.effective.backing == contracts::Backing::kCheckpointMmap;
    if (mapped != !rank.mapped_files.empty()) {
      findings.push_back(fmt::format("rank {} has backing {} and mapped {} files", rank.rank,
                                     contracts::backing_name(rank.effective.backing),
                                     rank.mapped_files.size()));
    }
    const RankReport& first = *first_of.try_emplace(rank.coordinates.tp, &rank).first->second;
    if (rank.mapped_files != first.mapped_files) {
      findings.push_back(fmt::format("ranks {} and {} mapped different files, device or inode",
                                     first.rank, rank.rank));
    }
  }
}

using Digests = std::map<std::uint32_t, std::string>;

// Digest of each request; ranks of one replica may report the same request.
Digests digests_of(const RunReport& report, Findings& findings) {
  Digests digests;
  for (const RankReport& rank : report.ranks) {
    for (const engine::RequestDigest& output : rank.outputs) {
      const auto [found, is_new] = digests.emplace(output.request, output.sha256);
      if (!is_new && found->second != output.sha256) {
        findings.push_back(
            fmt::format("rank {} answered request {} with other bytes than a rank "
                        "before it",
                        rank.rank, output.request));
      }
    }
  }
  return digests;
}

Digests check_outputs(const Scenario& scenario, const RunReport& report, Findings& findings) {
  Digests digests = digests_of(report, findings);
  for (std::uint32_t request = 0; request < scenario.requests.count; ++request) {
    if (!digests.contains(request)) {
      findings.push_back(fmt::format("request {} was not answered", request));
    }
  }
  if (digests.size() > scenario.requests.count) {
    findings.push_back(fmt::format("{} requests were answered, {} were asked", digests.size(),
                                   scenario.requests.count));
  }
  if (report.output_digest.empty()) {
    findings.emplace_back("the run has no output digest");
  }
  return digests;
}

std::optional<bool> compare_bytes(const RunReport& report, const Digests& digests,
                                  const Reference& reference, Findings& findings) {
  if (reference.report == nullptr || !ran(*reference.report)) {
    findings.push_back(fmt::format("the reference {} did not run", reference.name));
    return std::nullopt;
  }
  Findings unused;
  const Digests wanted = digests_of(*reference.report, unused);
  bool equal = report.output_digest == reference.report->output_digest;
  for (const auto& [request, sha256] : wanted) {
    const auto found = digests.find(request);
    if (found == digests.end() || found->second != sha256) {
      findings.push_back(
          fmt::format("output bytes of request {} differ from {}", request, reference.name));
      return false;
    }
  }
  if (!equal) {
    findings.push_back(fmt::format("the output digest differs from {}", reference.name));
  }
  return equal;
}

// Digits that mean something; bytes and counts in full.
std::string number_text(double value) {
  return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.6g}", value);
}

void check_limit(const Metric& metric, Findings& findings) {
  if (!metric.limit.has_value()) {
    findings.push_back(fmt::format("{} has no limit in this run", metric.name));
  } else if (metric.value > *metric.limit) {
    findings.push_back(fmt::format("{} is {} {}, above its limit of {} in this run", metric.name,
                                   number_text(metric.value), metric.unit,
                                   number_text(*metric.limit)));
  }
}

void check_measures(const Scenario& scenario, const std::vector<Metric>& metrics,
                    Findings& findings) {
  for (const Measure& measure : scenario.measures) {
    const auto metric = std::find_if(metrics.begin(), metrics.end(), [&](const Metric& candidate) {
      return candidate.name == measure.metric;
    });
    if (metric == metrics.end()) {
      findings.push_back(fmt::format("{} was not measured", measure.metric));
      continue;
    }
    if (measure.within_limit) {
      check_limit(*metric, findings);
      continue;
    }
    const bool low = measure.lower && metric->value < measure.reference * (1 + *measure.lower);
    const bool high = measure.upper && metric->value > measure.reference * (1 + *measure.upper);
    if (low || high) {
      findings.push_back(fmt::format(
          "{} is {} {}, {} the reference {} allows", measure.metric, number_text(metric->value),
          metric->unit, low ? "below what" : "above what", number_text(measure.reference)));
    }
  }
}

}  // namespace

bool ran(const RunReport& report) {
  return report.outcome == Outcome::kRuns || report.outcome == Outcome::kFallsBack;
}

Verdict judge(const Scenario& scenario, const RunReport& report,
              const std::optional<Reference>& reference,
              const std::optional<ThroughputSummary>& throughput,
              const std::vector<Metric>& metrics) {
  Verdict verdict;
  Findings& findings = verdict.failed_checks;
  check_outcome(scenario, report, findings);
  if (ran(report)) {
    check_effective(scenario, report, findings);
    check_ranks(scenario, report, findings);
    check_mapped_files(report, findings);
    const Digests digests = check_outputs(scenario, report, findings);
    if (scenario.throughput.has_value()) {
      const Findings fell_short = check_throughput(report.ranks, throughput);
      findings.insert(findings.end(), fell_short.begin(), fell_short.end());
      verdict.bytes_equal = arms_equal(report.ranks);
    }
    if (reference.has_value()) {
      verdict.bytes_equal = compare_bytes(report, digests, *reference, findings);
    }
  }
  if (report.outcome == Outcome::kFailsClosed && report.world_usable) {
    const Findings endings = check_endings(scenario, report, reference);
    findings.insert(findings.end(), endings.begin(), endings.end());
  }
  if (has_faults(scenario.platform)) {
    for (const RankReport& rank : report.ranks) {
      const Findings leaks = check_leaks(rank);
      findings.insert(findings.end(), leaks.begin(), leaks.end());
    }
  }
  verdict.sane = findings.empty();
  if (verdict.sane && ran(report)) {
    check_measures(scenario, metrics, findings);
  }
  verdict.passed = findings.empty();
  return verdict;
}

}  // namespace dlo::harness
