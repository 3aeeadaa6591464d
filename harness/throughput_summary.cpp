#include "harness/throughput_summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/run_report_json.h"
#include "engine/throughput_json.h"

namespace dlo::harness {
namespace {

using contracts::Transfer;
using engine::ArmMeasurement;
using engine::RankReport;

constexpr double kMsPerS = 1e3;

std::vector<std::vector<double>> slowest_of(const std::vector<const ArmMeasurement*>& ranks) {
  auto rounds = ranks.front()->forward_ms;
  for (const ArmMeasurement* rank : ranks) {
    for (std::size_t round = 0; round < rounds.size(); ++round) {
      for (std::size_t i = 0; i < rounds[round].size(); ++i) {
        rounds[round][i] = std::max(rounds[round][i], rank->forward_ms.at(round).at(i));
      }
    }
  }
  return rounds;
}

double ms_of(std::uint64_t bytes, double bytes_per_s) {
  return static_cast<double>(bytes) / bytes_per_s * kMsPerS;
}

// With H2D at `h2d_bytes_per_s`.
double link_limit_ms(const ArmMeasurement& arm, const engine::MachineCalibration& calibration,
                     double h2d_bytes_per_s) {
  const auto& effective = arm.rank.effective;
  const double copy_ms = ms_of(arm.h2d_bytes_per_forward, h2d_bytes_per_s);
  const auto* gather = calibration.find("gather_bytes_per_s");
  if (effective.transfer != Transfer::kAllGather || effective.group_size < 2 || gather == nullptr) {
    return copy_ms;
  }
  const std::uint64_t gathered =
      arm.gather_bytes_per_forward / (effective.group_size - 1) * effective.group_size;
  return std::max(copy_ms, ms_of(gathered, gather->high));
}

// The rate of a round: the better one of those before and behind it.
double rate_of_round(const std::vector<double>& rates, std::size_t round) {
  return std::max(rates.at(round), rates.at(round + 1));
}

// `ms_of_round` over each forward of its round, median over all.
template <typename MsOfRound>
double median_share(const ArmSummary& arm, MsOfRound ms_of_round) {
  std::vector<double> shares;
  for (std::size_t round = 0; round < arm.rounds.size(); ++round) {
    for (const double forward_ms : arm.rounds[round]) {
      shares.push_back(ms_of_round(round) / forward_ms);
    }
  }
  return telemetry::median_of(shares);
}

void add_link_limit(const engine::MachineCalibration& calibration, ArmSummary& arm) {
  const auto& rates = calibration.link_bytes_per_s;
  if (rates.empty() || arm.effective().transfer == Transfer::kResident) {
    return;
  }
  require(rates.size() == arm.rounds.size() + 1,
          "a rate before each round and one behind the last");
  const auto limit_ms = [&](std::size_t round) {
    return link_limit_ms(*arm.ranks.front(), calibration, rate_of_round(rates, round));
  };
  std::vector<double> limits;
  for (std::size_t round = 0; round < arm.rounds.size(); ++round) {
    limits.push_back(limit_ms(round));
  }
  arm.link_limit_ms = telemetry::median_of(limits);
  arm.link_share = median_share(arm, limit_ms);
}

void add_pack_share(const engine::MachineCalibration& calibration, ArmSummary& arm) {
  const auto& rates = calibration.pack_copy_bytes_per_s;
  if (!rates.empty() && arm.effective().transfer == Transfer::kStaged) {
    require(rates.size() == arm.rounds.size() + 1, "a rate of packing around each round");
    arm.pack_copy_share = median_share(arm, [&](std::size_t round) {
      return ms_of(arm.ranks.front()->h2d_bytes_per_forward, rate_of_round(rates, round));
    });
  }
}

std::optional<double> slowdown_limit(const ArmMeasurement& arm,
                                     const engine::MachineCalibration& calibration,
                                     double baseline_ms) {
  const auto& effective = arm.rank.effective;
  const auto* loss =
      calibration.find(effective.transfer == Transfer::kAllGather ? "gemm_loss_beside_shard_ms"
                                                                  : "gemm_loss_beside_h2d_ms");
  if (loss == nullptr || effective.transfer == Transfer::kResident || baseline_ms <= 0) {
    return std::nullopt;
  }
  return std::max(loss->value, 0.0) * effective.streamed_block_count / baseline_ms +
         kNoiseAllowance;
}

std::optional<std::size_t> twin_of_first(const engine::ThroughputSpec& spec) {
  for (std::size_t i = 1; i < spec.arms.size(); ++i) {
    if (spec.arms[i].options == spec.arms.front().options) {
      return i;
    }
  }
  return std::nullopt;
}

Json null_or(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string absent_reason(const ArmSummary& arm) {
  const auto lacking = std::find_if(
      arm.ranks.begin(), arm.ranks.end(),
      [](const ArmMeasurement* rank) { return !rank->counters.absent_reason.empty(); });
  return lacking == arm.ranks.end() ? "" : (*lacking)->counters.absent_reason;
}

Json arm_json(const ArmSummary& arm) {
  Json blocks = Json::array();
  for (const ArmMeasurement* rank : arm.ranks) {
    blocks.push_back(rank->blocks ? Json(engine::block_summary_to_json(*rank->blocks))
                                  : Json(nullptr));
  }
  return Json{{"name", arm.name},
              {"effective", engine::effective_to_json(arm.effective())},
              {"forward_ms", arm.rounds},
              {"median_ms", arm.forward.median},
              {"p99_ms", arm.forward.p99},
              {"difference_ms", difference_json(arm.forward.difference)},
              {"relative", difference_json(arm.forward.relative)},
              {"link_limit_ms", null_or(arm.link_limit_ms)},
              {"link_share", null_or(arm.link_share)},
              {"slowdown_limit", null_or(arm.slowdown_limit)},
              {"predicted_ms", null_or(arm.ranks.front()->predicted_ms)},
              {"prediction_note", arm.ranks.front()->prediction_note},
              {"output_sha256", arm.ranks.front()->output_sha256},
              {"counters_absent", absent_reason(arm)},
              {"blocks", blocks}};
}

std::string rank_text(const ArmMeasurement& arm) {
  return fmt::format("arm {}, rank {}", arm.name, arm.rank.rank);
}

void check_arm(const ArmMeasurement& arm, std::vector<std::string>& findings) {
  if (arm.different_forwards > 0) {
    findings.push_back(
        fmt::format("{}: {} of {} compared forwards gave other bytes than the "
                    "first arm",
                    rank_text(arm), arm.different_forwards, arm.compared_forwards));
  }
  const engine::TrafficLedger& traffic = arm.rank.traffic;
  if (!traffic.matches_plan()) {
    findings.push_back(
        fmt::format("{}: ledger differs from the plan: H2D {} of {} bytes, gathered {} of {} bytes",
                    rank_text(arm), traffic.h2d_bytes, traffic.h2d_bytes_planned,
                    traffic.gather_bytes, traffic.gather_bytes_planned));
  }
  const engine::OwnedBytes& owned = arm.rank.owned;
  if (owned.device_peak > owned.device_limit) {
    findings.push_back(fmt::format("{}: device peak of {} bytes is above the limit of {}",
                                   rank_text(arm), owned.device_peak, owned.device_limit));
  }
  if (owned.host_private_now > owned.host_private_limit) {
    findings.push_back(fmt::format("{}: owns {} host bytes, the mode promises {}", rank_text(arm),
                                   owned.host_private_now, owned.host_private_limit));
  }
}

// A limit that is beaten is no limit: the calibration or the forwards were measured wrongly.
void check_limit(const ArmSummary& arm, std::vector<std::string>& findings) {
  if (arm.link_share && *arm.link_share > 1 + kLinkTolerance) {
    findings.push_back(
        fmt::format("arm {}: a forward takes {:.3f} ms, below the {:.3f} ms that the link needs at "
                    "the rates measured around its rounds ({:.1f} %)",
                    arm.name, arm.forward.median, *arm.link_limit_ms, *arm.link_share * 1e2));
  }
}

}  // namespace

std::optional<ThroughputSummary> summarise_throughput(const std::vector<RankReport>& ranks,
                                                      const engine::ThroughputSpec& spec) {
  const bool whole =
      !ranks.empty() && std::all_of(ranks.begin(), ranks.end(), [&](const RankReport& rank) {
        return rank.throughput != nullptr && rank.throughput->arms.size() == spec.arms.size();
      });
  if (!whole) {
    return std::nullopt;
  }
  ThroughputSummary summary;
  summary.calibration = &ranks.front().throughput->calibration;
  std::vector<telemetry::ArmSamples> samples;
  for (std::size_t i = 0; i < spec.arms.size(); ++i) {
    ArmSummary arm;
    arm.name = spec.arms[i].name;
    for (const RankReport& rank : ranks) {
      arm.ranks.push_back(&rank.throughput->arms[i]);
    }
    arm.rounds = slowest_of(arm.ranks);
    samples.push_back({arm.name, arm.rounds});
    summary.arms.push_back(std::move(arm));
  }
  const auto report = telemetry::compare_arms(samples, twin_of_first(spec));
  summary.rounds = report.rounds;
  summary.noise_floor = report.noise_floor;
  for (std::size_t i = 0; i < summary.arms.size(); ++i) {
    ArmSummary& arm = summary.arms[i];
    arm.forward = report.arms[i];
    add_link_limit(*summary.calibration, arm);
    add_pack_share(*summary.calibration, arm);
    arm.slowdown_limit =
        slowdown_limit(*arm.ranks.front(), *summary.calibration, report.arms.front().median);
  }
  return summary;
}

Json difference_json(const std::optional<telemetry::PairedDifference>& difference) {
  if (!difference) {
    return nullptr;
  }
  return Json{{"estimate", difference->difference},
              {"low", difference->low},
              {"high", difference->high},
              {"coverage", difference->coverage}};
}

Json throughput_json(const ThroughputSummary& summary) {
  Json arms = Json::array();
  for (const ArmSummary& arm : summary.arms) {
    arms.push_back(arm_json(arm));
  }
  return Json{{"rounds", summary.rounds},
              {"noise_floor", null_or(summary.noise_floor)},
              {"calibration", Json(engine::calibration_figures_to_json(*summary.calibration))},
              {"arms", arms}};
}

std::vector<std::string> check_throughput(const std::vector<RankReport>& ranks,
                                          const std::optional<ThroughputSummary>& summary) {
  std::vector<std::string> findings;
  for (const RankReport& rank : ranks) {
    if (rank.throughput == nullptr) {
      findings.push_back(fmt::format("rank {} timed no forwards", rank.rank));
      continue;
    }
    for (const ArmMeasurement& arm : rank.throughput->arms) {
      check_arm(arm, findings);
    }
  }
  if (summary.has_value()) {
    for (const ArmSummary& arm : summary->arms) {
      check_limit(arm, findings);
    }
  }
  return findings;
}

bool arms_equal(const std::vector<RankReport>& ranks) {
  return std::all_of(ranks.begin(), ranks.end(), [](const RankReport& rank) {
    return rank.throughput != nullptr &&
           std::all_of(rank.throughput->arms.begin(), rank.throughput->arms.end(),
                       [](const ArmMeasurement& arm) { return arm.different_forwards == 0; });
  });
}

}  // namespace dlo::harness
