// What the tests of throughput runs share: a scenario of three arms on two ranks, and the report of
// a run of it with round numbers, to be bent by each test.
// Must not own: expectations. Pure functions; header only.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "engine/throughput_report.h"
#include "tests/unit/harness/harness_fixtures.h"

namespace dlo::harness {

inline Json timed_document() {
  return Json::parse(R"({
    "name": "timed",
    "model": {"preset": "wan_tiny", "blocks": 3},
    "topology": {"dp": 2},
    "options": {"dlo_chunk_bytes": 4096},
    "measure_forwards": {"rounds": 6, "forwards": 1, "arms": [
      {"name": "resident", "transfer": "resident"},
      {"name": "streamed", "transfer": "all_gather", "options": {"dlo_prefetch_depth": 2}},
      {"name": "alone", "transfer": "rank_local", "when": {"dp": 1}},
      {"name": "again", "transfer": "resident"}]},
    "expect": [{"outcome": "runs"}]
  })");
}

inline engine::ArmMeasurement timed_arm(const Scenario& scenario, std::size_t index, int rank) {
  engine::ArmMeasurement arm;
  arm.name = scenario.throughput->arms.at(index).name;
  arm.rank.rank = rank;
  for (int round = 0; round < 6; ++round) {
    // The streamed arm takes 10 ms more, rank 1 another 2 ms.
    arm.forward_ms.push_back({100.0 + round + (index == 1 ? 10 + 2 * rank : 0)});
  }
  arm.compared_forwards = 6;
  arm.weight_bytes = 1000;
  arm.output_sha256 = "digest";
  if (index == 1) {
    arm.rank.effective.transfer = contracts::Transfer::kAllGather;
    arm.rank.effective.group_size = 2;
    arm.rank.effective.streamed_block_count = 3;
    arm.rank.owned.pinned_now = 500;
    arm.rank.owned.host_private_limit = 500;
    arm.h2d_bytes_per_forward = 5'000'000'000;
    arm.gather_bytes_per_forward = 5'000'000'000;
    arm.predicted_ms = 56;
  }
  telemetry::BlockTimingSummary blocks;
  blocks.forwards = 2;
  blocks.dispatch_us = {4.0 + rank, 9};
  arm.counters.used_bytes = 700 + 10 * static_cast<std::uint64_t>(rank);
  arm.counters.energy_mj = 1'300'000 + 50'000 * static_cast<std::uint64_t>(rank);
  arm.counters.energy_ns = 2 * kSecond;
  arm.counters.power_limit_mw = 700'000 + 10'000 * static_cast<std::uint64_t>(rank);
  arm.blocks = blocks;
  arm.trace.rows.push_back({0, 10, rank, "compute", "compute block 0"});
  return arm;
}

inline engine::RunReport timed_report(const Scenario& scenario) {
  engine::RunReport report = good_report(scenario);
  for (engine::RankReport& rank : report.ranks) {
    rank.gather = "copy_engine";
    auto throughput = std::make_shared<engine::ThroughputReport>();
    throughput->calibration.figures = {{"h2d_together_bytes_per_s", "bytes/s", 45e9, 40e9, 50e9, 8},
                                       {"gather_bytes_per_s", "bytes/s", 400e9, 400e9, 400e9, 8},
                                       {"gemm_loss_beside_shard_ms", "ms", 0.5, 0.4, 0.6, 8}};
    throughput->calibration.link_bytes_per_s = {40e9, 50e9, 40e9, 50e9, 40e9, 50e9, 40e9};
    for (std::size_t i = 0; i < scenario.throughput->arms.size(); ++i) {
      throughput->arms.push_back(timed_arm(scenario, i, rank.rank));
    }
    rank.throughput = std::move(throughput);
  }
  return report;
}

// `report` with `change` made to what one rank measured of one arm.
inline engine::RunReport bent_arm(engine::RunReport report, std::size_t rank, std::size_t arm,
                                  const std::function<void(engine::ArmMeasurement&)>& change) {
  engine::ThroughputReport changed = *report.ranks[rank].throughput;
  change(changed.arms[arm]);
  report.ranks[rank].throughput = std::make_shared<engine::ThroughputReport>(changed);
  return report;
}

}  // namespace dlo::harness
