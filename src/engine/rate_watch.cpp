#include "engine/rate_watch.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "engine/calibration_run.h"

namespace dlo::engine {

namespace {

// Rows of one sample: a limit is what the machine can do, and one row may meet a slow moment.
constexpr int kRows = 3;

Result<double> best_of(const std::function<Result<double>()>& row) {
  double best = 0;
  for (int i = 0; i < kRows; ++i) {
    auto rate = row();
    if (!rate.ok()) {
      return rate;
    }
    best = std::max(best, *rate);
  }
  return best;
}

}  // namespace

Result<std::unique_ptr<RateWatch>> RateWatch::make(const CalibrationSeams& seams,
                                                   const MachineCalibration& calibration) {
  auto watch = std::make_unique<RateWatch>();
  auto bench = CalibrationBench::make(seams, calibration.block_bytes, /*piece_bytes=*/0);
  if (!bench.ok()) {
    return bench.refusal();
  }
  watch->bench_ = std::move(bench).value();
  if (calibration.pack_threads > 0) {
    auto loop = PackLoop::make(*watch->bench_, calibration.pack_threads);
    if (!loop.ok()) {
      return loop.refusal();
    }
    watch->loop_ = std::move(loop).value();
  }
  return watch;
}

Status RateWatch::sample(const CalibrationSeams& seams, std::unique_ptr<RateWatch>& watch,
                         MachineCalibration& calibration) {
  if (watch == nullptr) {
    auto made = make(seams, calibration);
    if (!made.ok()) {
      return made.refusal();
    }
    watch = std::move(made).value();
  }
  return watch->add_rates(calibration);
}

Status RateWatch::add_rates(MachineCalibration& calibration) {
  const auto link = best_of([this] { return link_rate(*bench_); });
  if (!link.ok()) {
    return link.refusal();
  }
  calibration.link_bytes_per_s.push_back(*link);
  if (loop_ == nullptr) {
    return {};
  }
  const auto packed = best_of([this] { return pack_rate(*bench_, *loop_); });
  if (!packed.ok()) {
    return packed.refusal();
  }
  calibration.pack_copy_bytes_per_s.push_back(*packed);
  return {};
}

}  // namespace dlo::engine
