// Owns: a throughput run on one rank: all arms alive in one process, calibration, warm-up,
// prediction, rounds in a seeded order, checks, traces; in step with the other ranks.
// Must not own: an arm's turn (throughput_arm.h), what follows over ranks (harness).
// Order: start every arm (one after another, weights loaded once) -> calibrate -> warm up ->
// predict -> rounds -> check -> trace -> measure. Between two turns all ranks meet, so a turn
// begins on all of them together and never beside another arm's.
// Threading: launching thread. Failure: the first refusal, or exception of any rank, ends it on
// every rank of the topology.
#pragma once

#include "comm/process_groups.h"
#include "engine/model_runner.h"
#include "engine/throughput_report.h"
#include "telemetry/process_resources.h"

namespace dlo::engine {

struct ThroughputEnding {
  Status status;
  RankReport report;  // of the first arm; `throughput` set when the run got to its end
  telemetry::ProcessResources left;
};

// Collective over `topology`. Precondition: request.throughput, refuse_arms() is empty.
[[nodiscard]] ThroughputEnding run_throughput(const RunEnvironment& environment,
                                              const RunRequest& request,
                                              const comm::Topology& topology);

}  // namespace dlo::engine
