#include <algorithm>
#include <cmath>
#include <span>

#include "engine/calibration_run.h"
#include "model/gemm_probe.h"
#include "telemetry/paired_comparison.h"

namespace dlo::engine {

using platform::StreamKind;
using telemetry::ArmSamples;

namespace {

// Rounds of the arms alone / beside; an interval of 95 % needs six.
constexpr std::uint32_t kRounds = 8;
constexpr std::uint64_t kOrderSeed = 1;
constexpr double kSeriesFactor = 2;
constexpr double kSeriesMax = 64;

// Something that runs beside the products.
struct Neighbour {
  std::string name;  // "h2d", "gather", "shard"; empty: alone
  std::function<void()> issue;
};

std::vector<Neighbour> neighbours_of(CalibrationBench& bench) {
  std::vector<Neighbour> neighbours = {{"", [] {}}, {"h2d", [&bench] { bench.copy_block(); }}};
  if (bench.seams().weight_communicator != nullptr) {
    neighbours.push_back({"gather", [&bench] { bench.gather(false); }});
    neighbours.push_back({"shard", [&bench] {
                            bench.copy_piece();
                            bench.gather(true);
                          }});
  }
  return neighbours;
}

// Products of a series, alike on all ranks.
Result<int> series_length(CalibrationBench& bench, model::GemmProbe& probe, double longest_ms) {
  double one_ms = 0;
  for (int i = 0; i < 2; ++i) {  // the first one loads the library's kernels
    const auto ms = bench.time_ms(StreamKind::kCompute, [&probe] { probe.launch(1); });
    if (!ms.ok()) {
      return ms.refusal();
    }
    one_ms = std::max(*ms, 1e-3);
  }
  const auto all = bench.share("GEMM series", std::ceil(kSeriesFactor * longest_ms / one_ms));
  if (!all.ok()) {
    return all.refusal();
  }
  return static_cast<int>(std::clamp(*std::max_element(all->begin(), all->end()), 1.0, kSeriesMax));
}

Status run_rounds(CalibrationBench& bench, model::GemmProbe& probe, int count,
                  const std::vector<Neighbour>& neighbours, std::vector<ArmSamples>& samples) {
  for (const auto& neighbour : neighbours) {
    samples.push_back({neighbour.name, {}});
  }
  const auto arm_count = static_cast<std::uint32_t>(neighbours.size());
  for (std::uint32_t round = 0; round <= kRounds; ++round) {
    for (const auto arm : telemetry::arm_order(kOrderSeed, round, arm_count)) {
      // Together on all ranks: a gather takes part of its time waiting otherwise.
      if (const auto met = bench.meet("GEMM beside"); !met.ok()) {
        return met.refusal();
      }
      const auto ms = bench.time_beside_ms(StreamKind::kCompute, neighbours[arm].issue,
                                           [&probe, count] { probe.launch(count); });
      if (!ms.ok()) {
        return ms.refusal();
      }
      if (round > 0) {  // round 0 warms up
        samples[arm].rounds.push_back({*ms});
      }
    }
  }
  return {};
}

}  // namespace

Status calibrate_compute(CalibrationBench& bench, double longest_ms, DType gemm_dtype,
                         MachineCalibration& calibration) {
  auto probe = model::make_gemm_probe(bench.device(), calibration.gemm_size, gemm_dtype);
  if (!probe.ok()) {
    return probe.refusal();
  }
  const auto count = series_length(bench, **probe, longest_ms);
  if (!count.ok()) {
    return count.refusal();
  }
  calibration.gemm_count = static_cast<std::uint32_t>(*count);
  const auto neighbours = neighbours_of(bench);
  std::vector<ArmSamples> samples;
  if (auto status = run_rounds(bench, **probe, *count, neighbours, samples); !status.ok()) {
    return status;
  }
  const auto report = telemetry::compare_arms(samples, std::nullopt);
  const auto& alone = samples.front().rounds;  // one sample a round
  calibration.figures.push_back({"gemm_alone_ms", "ms", report.arms.front().median,
                                 std::min_element(alone.begin(), alone.end())->front(),
                                 std::max_element(alone.begin(), alone.end())->front(),
                                 report.arms.front().sample_count});
  for (const auto& arm : std::span(report.arms).subspan(1)) {
    calibration.figures.push_back({"gemm_loss_beside_" + arm.name + "_ms", "ms",
                                   arm.difference->difference, arm.difference->low,
                                   arm.difference->high, arm.sample_count});
  }
  return {};
}

}  // namespace dlo::engine
