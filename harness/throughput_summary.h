// Owns: ThroughputSummary, what the ranks' throughput reports say together: the slowest rank of
// each forward, arms compared round by round, each figure's limit from the same run.
// Must not own: measuring (engine/throughput_run.h), statistics (telemetry/paired_comparison.h),
// names and text of metrics (throughput_metrics.h). Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/run_report.h"
#include "engine/throughput_report.h"
#include "harness/json.h"
#include "telemetry/paired_comparison.h"

namespace dlo::harness {

struct ArmSummary {
  std::string name;
  std::vector<std::vector<double>> rounds;  // ms of the slowest rank, by forward
  telemetry::ArmSummary forward;
  std::vector<const engine::ArmMeasurement*> ranks;  // into the reports, by rank

  // Time that the link alone needs, median over the rounds: rank-local, streamed bytes over the H2D
  // rate of all ranks at once; AllGather, the longer of the shard's H2D and the gathers of all
  // blocks. The H2D rate of a round is the better one of those measured before and behind it, for a
  // limit lies above all that is measured, and the host's memory is faster at one time than at
  // another. The gather's is the best sample of the calibration. None: resident, or not calibrated.
  std::optional<double> link_limit_ms;
  // That time of a round over each of its forwards, median over all forwards.
  std::optional<double> link_share;
  // Staged alone: time that a bare loop with as many threads takes to pack and copy its blocks at
  // the rate of a round, chosen as the link's, over each of its forwards; median over all forwards.
  // No limit: the loop stops for its threads.
  std::optional<double> pack_copy_share;
  // Share by which this arm may be slower than the baseline: what a series of products loses beside
  // one block's copy (and gather), for every streamed block, and 0.2 % of noise.
  std::optional<double> slowdown_limit;

  [[nodiscard]] const contracts::EffectiveTransfer& effective() const {
    return ranks.front()->rank.effective;
  }
};

struct ThroughputSummary {
  std::vector<ArmSummary> arms;
  std::uint32_t rounds = 0;
  std::optional<double> noise_floor;                        // share of the baseline
  const engine::MachineCalibration* calibration = nullptr;  // rank 0's
};

inline constexpr double kNoiseAllowance = 0.002;

// None unless every rank has a throughput report. The ranks outlive the summary.
[[nodiscard]] std::optional<ThroughputSummary> summarise_throughput(
    const std::vector<engine::RankReport>& ranks, const engine::ThroughputSpec& spec);

// {estimate, low, high, coverage}; null for none.
[[nodiscard]] Json difference_json(const std::optional<telemetry::PairedDifference>& difference);

// As results.json holds it: {rounds, noise_floor, calibration, arms [{name, effective, forward_ms,
// median_ms, p99_ms, difference, relative, link_limit_ms, link_share, slowdown_limit, predicted_ms,
// prediction_note, output_sha256, counters_absent, blocks [one a rank]}]}. `counters_absent` is why
// an accelerator's counter is absent, of the first rank that lacks one.
[[nodiscard]] Json throughput_json(const ThroughputSummary& summary);

// Share by which the samples of one run may beat its link limit.
inline constexpr double kLinkTolerance = 0.01;

// One sentence for each arm that gave other bytes than the baseline, moved other bytes than its
// plan, holds more memory than its mode allows, or is faster than its link limit, which is then
// none. `summary` is that of the ranks, where there is one.
[[nodiscard]] std::vector<std::string> check_throughput(
    const std::vector<engine::RankReport>& ranks, const std::optional<ThroughputSummary>& summary);

// Whether every compared forward of every arm gave the baseline's bytes.
[[nodiscard]] bool arms_equal(const std::vector<engine::RankReport>& ranks);

}  // namespace dlo::harness
