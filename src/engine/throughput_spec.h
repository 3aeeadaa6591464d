// Owns: ThroughputSpec, what a scenario asks to be timed: the arms, how many forwards in how many
// rounds, what is checked and traced beside.
// Must not own: running it (engine/throughput_run.h) or its results (engine/throughput_report.h).
// Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/offload_options.h"

namespace dlo::engine {

// One way to run the same forward. Two arms with equal options are one instance measured under two
// names, which tells the noise floor.
struct ArmSpec {
  std::string name;
  config::OffloadOptions options;
};

struct ThroughputSpec {
  std::vector<ArmSpec> arms;          // the first is the baseline
  std::uint32_t rounds = 6;           // turns of each arm, in a seeded random order
  std::uint32_t forwards = 2;         // timed ones a turn; one more before and one behind, untimed
  std::uint32_t warmups = 2;          // forwards of each arm before the first round, two at least
  std::uint32_t traced_forwards = 3;  // of each arm after the last round; 0: no block timing
  // Consecutive forwards of each arm whose output bytes are all compared with the baseline's; 0:
  // only the last forward of each turn.
  std::uint32_t check_every_forward = 0;
  bool calibrate = true;
  std::int64_t gemm_size = 0;  // of the calibration's square GEMMs; 0: as the device suits
  double timestep = 500;
};

}  // namespace dlo::engine
