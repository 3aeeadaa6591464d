#include "harness/fault_checks.h"

#include <fmt/format.h>

#include <algorithm>

namespace dlo::harness {
namespace {

using engine::RankReport;
using engine::RequestDigest;

bool shares_weights(const RankReport& rank, const RankReport& other) {
  const std::vector<int>& group = rank.weight_group;
  return rank.rank == other.rank ||
         std::find(group.begin(), group.end(), other.rank) != group.end();
}

// The failure that `rank` must have ended with: that of any rank that shares its weights.
std::string failure_around(const RankReport& rank, const std::vector<RankReport>& ranks) {
  for (const RankReport& other : ranks) {
    if (!other.code.empty() && shares_weights(rank, other)) {
      return other.code;
    }
  }
  return "";
}

std::vector<RequestDigest> outputs_of(const engine::RunReport& report) {
  std::vector<RequestDigest> outputs;
  for (const RankReport& rank : report.ranks) {
    outputs.insert(outputs.end(), rank.outputs.begin(), rank.outputs.end());
  }
  return outputs;
}

bool fault_around(const RankReport& rank, const std::vector<RankReport>& ranks) {
  return std::any_of(ranks.begin(), ranks.end(), [&](const RankReport& other) {
    return other.fault_count > 0 && shares_weights(rank, other);
  });
}

}  // namespace

std::vector<std::string> check_leaks(const RankReport& rank) {
  if (!rank.resources.has_value()) {
    return {fmt::format("rank {}: nobody counted what it holds", rank.rank)};
  }
  engine::ResourceChange change = *rank.resources;
  if (rank.abandoned_buffers && !rank.code.empty()) {
    for (const auto figure :
         {&telemetry::ProcessResources::device_buffers, &telemetry::ProcessResources::device_bytes,
          &telemetry::ProcessResources::pinned_bytes, &telemetry::ProcessResources::pageable_bytes,
          &telemetry::ProcessResources::locked_bytes,
          &telemetry::ProcessResources::other_mappings}) {
      change.after.*figure = change.before.*figure;
    }
  }
  std::vector<std::string> findings;
  for (const std::string& line : telemetry::grown_resources(change.before, change.after)) {
    findings.push_back(fmt::format("rank {}: {} {}", rank.rank, kLeaked, line));
  }
  return findings;
}

std::vector<std::string> compare_outputs(int rank, const std::vector<RequestDigest>& outputs,
                                         const std::vector<RequestDigest>& wanted) {
  std::vector<std::string> findings;
  for (const RequestDigest& output : outputs) {
    const auto same = std::find_if(wanted.begin(), wanted.end(), [&](const RequestDigest& other) {
      return other.request == output.request;
    });
    if (same == wanted.end() || same->sha256 != output.sha256) {
      findings.push_back(fmt::format("rank {}: {} of request {} differ from the reference", rank,
                                     kBytesDiffer, output.request));
    }
  }
  return findings;
}

std::vector<std::string> check_endings(const Scenario& scenario, const engine::RunReport& report,
                                       const std::optional<Reference>& reference) {
  std::vector<std::string> findings;
  const std::vector<RankReport>& ranks = report.ranks;
  const bool planned = !scenario.platform.faults.rules.empty();
  for (const RankReport& rank : ranks) {
    const std::string wanted = failure_around(rank, ranks);
    if (rank.code != wanted) {
      findings.push_back(
          fmt::format("rank {} ended with '{}', a rank of its weight group with '{}'", rank.rank,
                      rank.code, wanted));
    }
    if (planned && !rank.code.empty() && !fault_around(rank, ranks)) {
      findings.push_back(fmt::format("rank {} failed ({}) without a fault in its weight group",
                                     rank.rank, rank.code));
    }
    if (!rank.code.empty()) {
      continue;
    }
    if (rank.outputs.empty()) {
      findings.push_back(fmt::format("rank {} did not fail and answered nothing", rank.rank));
    }
    if (reference.has_value() && reference->report != nullptr) {
      const auto differing =
          compare_outputs(rank.rank, rank.outputs, outputs_of(*reference->report));
      findings.insert(findings.end(), differing.begin(), differing.end());
    }
  }
  const bool met = std::any_of(ranks.begin(), ranks.end(),
                               [](const RankReport& rank) { return rank.fault_count > 0; });
  if (planned && !ranks.empty() && !met) {
    findings.emplace_back("no fault of the plan was met");
  }
  return findings;
}

}  // namespace dlo::harness
