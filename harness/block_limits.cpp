#include "harness/block_limits.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace dlo::harness {

using contracts::Transfer;
using engine::ArmMeasurement;
using engine::MachineCalibration;

namespace {

constexpr double kMsPerSecond = 1000;
constexpr double kNsPerUs = 1000;
// Of a block: waits for the slot's free and ready events, and their records.
constexpr double kSlotEvents = 4;
// Of a chunk: the same of its input slot.
constexpr double kInputEvents = 4;

std::optional<double> best(const MachineCalibration& calibration, std::string_view name) {
  const auto* figure = calibration.find(name);
  return figure == nullptr ? std::nullopt : std::optional(figure->high);
}

std::optional<double> median(const MachineCalibration& calibration, std::string_view name) {
  const auto* figure = calibration.find(name);
  return figure == nullptr ? std::nullopt : std::optional(figure->value);
}

std::optional<double> best_link(const MachineCalibration& calibration) {
  auto rate = best(calibration, "h2d_together_bytes_per_s");
  for (const double seen : calibration.link_bytes_per_s) {
    rate = std::max(rate.value_or(0), seen);
  }
  return rate;
}

std::optional<double> time_ms(double bytes, std::optional<double> bytes_per_s) {
  return bytes_per_s && *bytes_per_s > 0 ? std::optional(bytes / *bytes_per_s * kMsPerSecond)
                                         : std::nullopt;
}

// `copies`: chunks of a block.
std::optional<double> calls_us(const MachineCalibration& calibration, double copies, bool gathers) {
  const auto event = median(calibration, "event_ns");
  const auto copy = median(calibration, "copy_ns");
  const auto gather = median(calibration, "gather_ns");
  if (!event || !copy || (gathers && !gather)) {
    return std::nullopt;
  }
  const double chunk = *copy + (gathers ? kInputEvents * *event + *gather : 0);
  return (kSlotEvents * *event + copies * chunk) / kNsPerUs;
}

}  // namespace

BlockLimits block_limits(const ArmMeasurement& rank, const MachineCalibration& calibration) {
  const auto& effective = rank.rank.effective;
  BlockLimits limits;
  if (effective.transfer == Transfer::kResident || effective.streamed_block_count == 0) {
    return limits;
  }
  const auto blocks = static_cast<double>(effective.streamed_block_count);
  const double bytes = static_cast<double>(rank.h2d_bytes_per_forward) / blocks;
  const bool gathers = effective.transfer == Transfer::kAllGather;
  limits.h2d_ms = time_ms(bytes, best_link(calibration));
  if (gathers) {
    limits.gather_ms =
        time_ms(bytes * effective.group_size, best(calibration, "gather_bytes_per_s"));
  }
  if (effective.transfer != Transfer::kStaged && rank.blocks) {
    limits.dispatch_us =
        calls_us(calibration, std::round(rank.blocks->h2d_calls / blocks), gathers);
  }
  return limits;
}

}  // namespace dlo::harness
