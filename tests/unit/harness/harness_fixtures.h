// What the harness tests share: a small scenario document, and reports of ranks that did
// everything right, to be bent by each test.
// Must not own: expectations. Pure functions; header only.
#pragma once

#include <string>
#include <vector>

#include "engine/run_report.h"
#include "harness/json.h"
#include "harness/scenario.h"

namespace dlo::harness {

inline Json small_document() {
  return Json::parse(R"({
    "name": "small",
    "model": {"preset": "wan_tiny", "blocks": 3},
    "expect": [{"outcome": "runs"}]
  })");
}

// Reads `document`, which must be good, and returns its first instance.
inline Scenario scenario_from(const Json& document) {
  auto scenarios = read_scenarios(document, {.file = "small.json", .run_seed = 7});
  return scenarios.value().front();
}

inline contracts::EffectiveTransfer effective_of(const Scenario& scenario) {
  contracts::EffectiveTransfer effective;
  const bool mapped = scenario.streams() && scenario.options.dlo_checkpoint_mmap;
  if (scenario.streams()) {
    effective.transfer = scenario.options.dlo_use_allgather ? contracts::Transfer::kAllGather
                         : mapped                           ? contracts::Transfer::kStaged
                                                            : contracts::Transfer::kRankLocal;
  }
  if (mapped) {
    effective.backing = contracts::Backing::kCheckpointMmap;
  }
  effective.streamed_block_count = scenario.streams() ? 3 : 0;
  return effective;
}

// Every rank of the topology answers its requests, moves what the plan says and stays in limits.
inline engine::RunReport good_report(const Scenario& scenario) {
  engine::RunReport report;
  report.output_digest = "all";
  const int ranks = static_cast<int>(config::world_size(scenario.parallel));
  for (int rank = 0; rank < ranks; ++rank) {
    engine::RankReport row;
    row.rank = rank;
    row.coordinates.dp = rank;
    row.effective = effective_of(scenario);
    if (row.effective.backing == contracts::Backing::kCheckpointMmap) {
      row.mapped_files = {{"model/transformer.safetensors", 8, 4711}};
    }
    row.owned.host_private_now = 1000;
    row.owned.host_private_peak = 3000;
    row.owned.host_private_limit = 1000;
    row.owned.device_peak = 500;
    row.owned.device_limit = 600;
    row.traffic.h2d_calls = 6;
    row.traffic.h2d_bytes = 4000;
    row.traffic.h2d_bytes_planned = 4000;
    row.traffic.forward_count = 4;
    row.baseline.pss_bytes = 4000;
    row.process.pss_bytes = 10000;
    row.owned.device_in_host = 1500;
    row.weight_bytes = 3000;
    row.forward_ms = {1.0, 2.0, 4.0};
    row.resources = engine::ResourceChange{};
    for (std::uint32_t request = 0; request < scenario.requests.count; ++request) {
      if (static_cast<int>(request) % ranks == rank) {
        row.outputs.push_back({request, "digest of " + std::to_string(request)});
      }
    }
    report.ranks.push_back(row);
  }
  return report;
}

}  // namespace dlo::harness
