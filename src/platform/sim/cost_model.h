// Owns: CostModel, how long the simulator's operations take: random for exploration, calibrated
// for prediction.
// Must not own: order. Any duration is allowed; correctness may not depend on it.
#pragma once

#include <array>
#include <cstdint>

#include "base/deadline.h"
#include "base/seeded_random.h"
#include "platform/device.h"

namespace dlo::platform::sim {

enum class OpKind : std::uint8_t { kRecord, kWait, kCopy, kTask, kCollective };

// What a cost may depend on.
struct OpFacts {
  int rank = 0;
  StreamKind stream = StreamKind::kCompute;
  OpKind kind = OpKind::kTask;
  OpLabel label;
  std::uint64_t bytes = 0;  // copied, or gathered in all
};

// For how long copies and gathers ran on their streams while an operation ran on its own.
struct RanBeside {
  Nanoseconds copies = 0;
  Nanoseconds gathers = 0;
};

class CostModel {
 public:
  virtual ~CostModel() = default;

  // From the moment an operation could start to its start.
  [[nodiscard]] virtual Nanoseconds start_delay(const OpFacts& op, SeededRandom& random) const = 0;
  // From start to end.
  [[nodiscard]] virtual Nanoseconds duration(const OpFacts& op, SeededRandom& random) const = 0;
  // What the operation loses to its neighbours on top of its duration, so far.
  [[nodiscard]] virtual Nanoseconds lost(const OpFacts& /*op*/, const RanBeside& /*beside*/) const {
    return 0;
  }
  // Time that the launching thread is busy with the operation once it is on its stream.
  [[nodiscard]] virtual Nanoseconds host_cost(const OpFacts& /*op*/) const { return 0; }
  // True when tasks may read their inputs at the start as well as at the end of their interval.
  [[nodiscard]] virtual bool explores() const = 0;
};

// Durations drawn over five orders of magnitude, each stream of each rank with a bias of its own
// per seed, so that some seeds have a slow link, some a slow rank, some a slow compute.
class ExploringCosts : public CostModel {
 public:
  explicit ExploringCosts(std::uint64_t seed) : seed_(seed) {}

  [[nodiscard]] Nanoseconds start_delay(const OpFacts& op, SeededRandom& random) const override;
  [[nodiscard]] Nanoseconds duration(const OpFacts& op, SeededRandom& random) const override;
  [[nodiscard]] bool explores() const override { return true; }

 private:
  // 0..3 decimal orders by which this stream of this rank is slowed in this seed.
  [[nodiscard]] std::uint64_t slowness(const OpFacts& op) const;

  std::uint64_t seed_;
};

}  // namespace dlo::platform::sim
