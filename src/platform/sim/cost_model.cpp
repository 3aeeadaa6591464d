#include "platform/sim/cost_model.h"

namespace dlo::platform::sim {

namespace {

constexpr std::array<Nanoseconds, 5> kScales = {1, 10, 100, 1'000, 10'000};

Nanoseconds draw(std::uint64_t scale_index, SeededRandom& random) {
  const auto scale = static_cast<std::uint64_t>(kScales.at(scale_index));
  return static_cast<Nanoseconds>(1 + random.below(scale));
}

}  // namespace

std::uint64_t ExploringCosts::slowness(const OpFacts& op) const {
  const auto stream = static_cast<std::uint64_t>(op.stream);
  SeededRandom bias(seed_ ^ (stream << 8U) ^ (static_cast<std::uint64_t>(op.rank) << 16U));
  const std::uint64_t roll = bias.below(8);
  return roll < 5 ? 0 : roll - 4;
}

Nanoseconds ExploringCosts::start_delay(const OpFacts& op, SeededRandom& random) const {
  static_cast<void>(op);
  return random.chance(25) ? draw(random.below(3), random) : 0;
}

Nanoseconds ExploringCosts::duration(const OpFacts& op, SeededRandom& random) const {
  if (op.kind == OpKind::kRecord || op.kind == OpKind::kWait) {
    return 0;
  }
  const std::uint64_t scale = random.below(2) + slowness(op);
  return draw(scale < kScales.size() ? scale : kScales.size() - 1, random);
}

}  // namespace dlo::platform::sim
