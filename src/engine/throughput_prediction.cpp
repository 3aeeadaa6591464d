#include "engine/throughput_prediction.h"

#include <algorithm>

#include "base/codes.h"
#include "engine/simulation/prediction.h"

namespace dlo::engine {

namespace {

constexpr const char* kSource = "measured in this run";
// Shares of a neighbour's time; both together stay below 1, as the simulator asks.
constexpr double kLossShareMax = 0.45;

Figure figure_of(const MachineCalibration& machine, std::string_view name) {
  const auto* figure = machine.find(name);
  return {figure != nullptr ? figure->value : 0, kSource, Evidence::kMeasured};
}

// What compute loses beside a neighbour that takes `neighbour_ms`, as a share of that time.
Figure loss_share(const MachineCalibration& machine, std::string_view name, double neighbour_ms) {
  const double loss_ms = figure_of(machine, name).value;
  const double share = neighbour_ms > 0 ? loss_ms / neighbour_ms : 0;
  return {std::clamp(share, 0.0, kLossShareMax), kSource, Evidence::kMeasured};
}

}  // namespace

Calibration calibration_of_run(const MachineCalibration& machine, std::uint32_t ranks,
                               const contracts::EffectiveTransfer& effective, double launch_us) {
  Calibration calibration;
  calibration.name = "this run";
  calibration.source = kSource;
  // Latency is part of the rates: both are measured at the block's size.
  calibration.h2d.latency_ns = {0, kSource, Evidence::kMeasured};
  calibration.h2d.bytes_per_s[1] = figure_of(machine, "h2d_alone_bytes_per_s");
  calibration.h2d.bytes_per_s[ranks] = figure_of(
      machine, effective.transfer == contracts::Transfer::kStaged ? "pack_copy_bytes_per_s"
                                                                  : "h2d_together_bytes_per_s");
  calibration.gather.latency_ns = {0, kSource, Evidence::kMeasured};
  if (machine.find("gather_bytes_per_s") != nullptr) {
    calibration.gather.bytes_per_s[effective.group_size] = figure_of(machine, "gather_bytes_per_s");
  }
  const double copy_ms = static_cast<double>(machine.block_bytes) * 1e3 /
                         figure_of(machine, "h2d_together_bytes_per_s").value;
  calibration.compute.lost_beside_copy = loss_share(machine, "gemm_loss_beside_h2d_ms", copy_ms);
  calibration.compute.lost_beside_gather =
      loss_share(machine, "gemm_loss_beside_gather_ms", figure_of(machine, "gather_ms").value);
  calibration.host.event_ns = figure_of(machine, "event_ns");
  calibration.host.copy_ns = figure_of(machine, "copy_ns");
  calibration.host.gather_ns = figure_of(machine, "gather_ns");
  calibration.host.block_ns = {launch_us * 1e3, kSource, Evidence::kMeasured};
  return calibration;
}

Result<double> predict_forward_ms(const Calibration& calibration, std::uint32_t ranks,
                                  const ArmToPredict& arm, const telemetry::ForwardTiming& baseline,
                                  const std::vector<std::uint64_t>& block_bytes) {
  require(baseline.blocks.size() == block_bytes.size(), "a prediction wants every block's time");
  if (arm.stage_resident_bytes > 0) {
    return refuse(codes::kNotInThisProduct, "leading blocks that stay on the device", "prediction",
                  "set dlo_resident_layers to 0 for an arm that is to be predicted");
  }
  PredictRequest request;
  request.calibration = calibration;
  request.ranks = ranks;
  request.group_size = arm.effective.group_size;
  request.transfer = arm.effective.transfer;
  double other_ms = baseline.other_compute_ms;
  if (!arm.child_block_bytes.empty()) {
    other_ms -= baseline.child_compute_ms;
  }
  for (const auto bytes : arm.child_block_bytes) {
    const double share =
        baseline.child_compute_ms / static_cast<double>(arm.child_block_bytes.size());
    request.blocks.push_back({bytes, static_cast<Nanoseconds>(share * 1e6)});
  }
  for (std::size_t i = 0; i < block_bytes.size(); ++i) {
    request.blocks.push_back(
        {block_bytes[i], static_cast<Nanoseconds>(baseline.blocks[i].compute_ms * 1e6)});
  }
  request.other_compute_ns = static_cast<Nanoseconds>(other_ms * 1e6);
  request.prefetch_depth = std::max(arm.effective.prefetch_depth, 1U);
  request.chunk_bytes = arm.effective.chunk_bytes;
  request.input_slots = arm.input_slots;
  const auto predicted = predict(request);
  if (!predicted.ok()) {
    return predicted.refusal();
  }
  return static_cast<double>(predicted->wave_ns) / static_cast<double>(kMillisecond);
}

}  // namespace dlo::engine
