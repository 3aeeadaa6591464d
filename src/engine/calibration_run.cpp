#include "engine/calibration_run.h"

#include <algorithm>
#include <utility>

#include "telemetry/paired_comparison.h"

namespace dlo::engine {

using platform::OpLabel;
using platform::Site;
using platform::StreamKind;
using telemetry::median_of;

namespace {

constexpr int kWarmUps = 2;
constexpr int kRepeats = 8;
// Copies or gathers of one sample, behind one more that is not timed: ranks do not begin at the
// same moment, and a gather's first one waits for the last rank.
constexpr int kOperations = 8;
// Events in one sample of their cost; far below what a stream's queue holds.
constexpr int kEventPairs = 200;
constexpr std::int64_t kAcceleratorGemm = 8192;
constexpr std::int64_t kHostGemm = 256;
constexpr const char* kAlone = "h2d_alone_bytes_per_s";
constexpr const char* kTogether = "h2d_together_bytes_per_s";

double per_second(std::uint64_t bytes, double ms) {
  return static_cast<double>(bytes) / std::max(ms, 1e-6) * 1e3;
}

// Samples of one operation, in milliseconds of the device and nanoseconds of the host.
struct Series {
  std::vector<double> ms;
  std::vector<double> host_ns;

  [[nodiscard]] double least() const { return *std::min_element(ms.begin(), ms.end()); }
  [[nodiscard]] double most() const { return *std::max_element(ms.begin(), ms.end()); }
};

// A row of one operation, behind one more that is not timed.
Result<double> row_ms(CalibrationBench& bench, StreamKind stream,
                      const std::function<void()>& issue, Nanoseconds* host_ns) {
  const auto row = [&issue] {
    for (int operation = 0; operation < kOperations; ++operation) {
      issue();
    }
  };
  return bench.time_beside_ms(stream, issue, row, host_ns);
}

// Of one operation in a row of them. `meet_each`: all ranks begin each row together.
Result<Series> measure(CalibrationBench& bench, StreamKind stream,
                       const std::function<void()>& issue, bool meet_each) {
  Series series;
  for (int i = 0; i < kWarmUps + kRepeats; ++i) {
    if (meet_each) {
      if (const auto met = bench.meet("calibration repeat"); !met.ok()) {
        return met.refusal();
      }
    }
    Nanoseconds host_ns = 0;
    const auto ms = row_ms(bench, stream, issue, &host_ns);
    if (!ms.ok()) {
      return ms.refusal();
    }
    if (i >= kWarmUps) {
      series.ms.push_back(*ms / kOperations);
      series.host_ns.push_back(static_cast<double>(host_ns) / kOperations);
    }
  }
  return series;
}

CalibrationFigure rate_figure(std::string name, std::uint64_t bytes, const Series& series) {
  return {std::move(name),
          "bytes/s",
          per_second(bytes, median_of(series.ms)),
          per_second(bytes, series.most()),
          per_second(bytes, series.least()),
          series.ms.size()};
}

CalibrationFigure host_figure(std::string name, const std::vector<double>& ns) {
  return {std::move(name),
          "ns",
          median_of(ns),
          *std::min_element(ns.begin(), ns.end()),
          *std::max_element(ns.begin(), ns.end()),
          ns.size()};
}

// Shares `figure` so that each part becomes what `choose` makes of all ranks' parts.
template <typename Choose>
Status share_parts(CalibrationBench& bench, CalibrationFigure& figure, Choose choose) {
  for (double* part : {&figure.value, &figure.low, &figure.high}) {
    const auto all = bench.share(figure.name, *part);
    if (!all.ok()) {
      return all.refusal();
    }
    *part = choose(*all);
  }
  return {};
}

// The slowest rank's figure counts for all, its best sample too.
Status keep_slowest(CalibrationBench& bench, CalibrationFigure figure,
                    MachineCalibration& calibration) {
  auto status = share_parts(bench, figure, [](const std::vector<double>& all) {
    return *std::min_element(all.begin(), all.end());
  });
  calibration.figures.push_back(std::move(figure));
  return status;
}

Status copy_together(CalibrationBench& bench, MachineCalibration& calibration) {
  const auto series = measure(
      bench, StreamKind::kCopy, [&] { bench.copy_block(); }, true);
  if (!series.ok()) {
    return series.refusal();
  }
  calibration.figures.push_back(host_figure("copy_ns", series->host_ns));
  return keep_slowest(bench, rate_figure(kTogether, bench.block_bytes(), *series), calibration);
}

// Rank 0 copies, the others wait; then all of them know its rate. One rank that is alone is all of
// them together: measured twice, it would have two rates.
Status copies(CalibrationBench& bench, MachineCalibration& calibration) {
  const bool one_rank = bench.seams().control.size() == 1;
  CalibrationFigure figure{kAlone, "bytes/s", 0, 0, 0, kRepeats};
  if (bench.seams().control.rank() == 0) {
    const auto series = measure(
        bench, StreamKind::kCopy, [&] { bench.copy_block(); }, false);
    if (!series.ok()) {
      return series.refusal();
    }
    figure = rate_figure(kAlone, bench.block_bytes(), *series);
    if (one_rank) {
      calibration.figures.push_back(host_figure("copy_ns", series->host_ns));
    }
  }
  auto status = share_parts(bench, figure, [](const std::vector<double>& all) { return all[0]; });
  calibration.figures.push_back(figure);
  if (!status.ok() || !one_rank) {
    return status.ok() ? copy_together(bench, calibration) : status;
  }
  figure.name = kTogether;
  calibration.figures.push_back(std::move(figure));
  return {};
}

Status gather(CalibrationBench& bench, MachineCalibration& calibration) {
  const auto series = measure(
      bench, StreamKind::kComm, [&] { bench.gather(false); }, true);
  if (!series.ok()) {
    return series.refusal();
  }
  calibration.figures.push_back({"gather_ms", "ms", median_of(series->ms), series->least(),
                                 series->most(), series->ms.size()});
  calibration.figures.push_back(host_figure("gather_ns", series->host_ns));
  return keep_slowest(bench, rate_figure("gather_bytes_per_s", bench.block_bytes(), *series),
                      calibration);
}

// What a staged transfer could reach at best with so many threads, on all ranks at once.
Status pack_and_copy(CalibrationBench& bench, MachineCalibration& calibration) {
  auto loop = PackLoop::make(bench, calibration.pack_threads);
  if (!loop.ok()) {
    return loop.refusal();
  }
  Series series;
  for (int i = 0; i < kWarmUps + kRepeats; ++i) {
    if (const auto met = bench.meet("calibration repeat"); !met.ok()) {
      return met.refusal();
    }
    const auto ms = (*loop)->run_ms(kOperations);
    if (!ms.ok()) {
      return ms.refusal();
    }
    if (i >= kWarmUps) {
      series.ms.push_back(*ms / kOperations);
    }
  }
  return keep_slowest(bench, rate_figure("pack_copy_bytes_per_s", bench.block_bytes(), series),
                      calibration);
}

Status events(CalibrationBench& bench, MachineCalibration& calibration) {
  auto& device = bench.device();
  const auto event = device.create_event();
  const OpLabel label{.site = Site::kModel};
  std::vector<double> ns;
  for (int i = 0; i < kWarmUps + kRepeats; ++i) {
    const Nanoseconds begin = device.clock().now();
    for (int pair = 0; pair < kEventPairs; ++pair) {
      device.record(event, StreamKind::kCopy, label);
      device.wait(StreamKind::kComm, event, label);
    }
    const Nanoseconds end = device.clock().now();
    if (auto status = bench.finish(); !status.ok()) {
      return status;
    }
    if (i >= kWarmUps) {
      ns.push_back(static_cast<double>(end - begin) / (2.0 * kEventPairs));
    }
  }
  calibration.figures.push_back(host_figure("event_ns", ns));
  return {};
}

// Bytes/s of the slowest rank in a row of `ms`.
Result<double> slowest_rate(CalibrationBench& bench, std::string_view where,
                            const Result<double>& ms) {
  if (!ms.ok()) {
    return ms.refusal();
  }
  const auto all = bench.share(where, per_second(bench.block_bytes(), *ms / kOperations));
  if (!all.ok()) {
    return all.refusal();
  }
  return *std::min_element(all->begin(), all->end());
}

}  // namespace

Result<MachineCalibration> calibrate(const CalibrationSeams& seams,
                                     const CalibrationRequest& request) {
  auto made = CalibrationBench::make(seams, request.block_bytes, request.piece_bytes);
  if (!made.ok()) {
    return made.refusal();
  }
  auto& bench = **made;
  MachineCalibration calibration;
  calibration.block_bytes = request.block_bytes;
  calibration.piece_bytes = request.piece_bytes;
  calibration.gemm_size = request.gemm_size;
  if (calibration.gemm_size == 0) {
    const bool accelerated = seams.device.native_stream(StreamKind::kCompute).present();
    calibration.gemm_size = accelerated ? kAcceleratorGemm : kHostGemm;
  }
  std::vector<std::function<Status()>> steps = {[&] { return copies(bench, calibration); }};
  // One rank may have fallen back from its mapping: all take part all the same.
  const auto packing = bench.share("packing threads", request.pack_threads);
  if (!packing.ok()) {
    return packing.refusal();
  }
  calibration.pack_threads =
      static_cast<std::uint32_t>(*std::max_element(packing->begin(), packing->end()));
  if (calibration.pack_threads > 0) {
    steps.emplace_back([&] { return pack_and_copy(bench, calibration); });
  }
  if (seams.weight_communicator != nullptr) {
    steps.emplace_back([&] { return gather(bench, calibration); });
  }
  steps.emplace_back([&] { return events(bench, calibration); });
  steps.emplace_back([&] {
    const double copy_ms =
        static_cast<double>(request.block_bytes) * 1e3 / calibration.find(kTogether)->value;
    const auto* gather_ms = calibration.find("gather_ms");
    return calibrate_compute(bench, std::max(copy_ms, gather_ms ? gather_ms->value : 0),
                             request.gemm_dtype, calibration);
  });
  for (const auto& step : steps) {
    if (auto status = step(); !status.ok()) {
      return status.refusal();
    }
  }
  return calibration;
}

Result<double> link_rate(CalibrationBench& bench) {
  if (const auto met = bench.meet("link"); !met.ok()) {
    return met.refusal();
  }
  return slowest_rate(bench, "link",
                      row_ms(
                          bench, StreamKind::kCopy, [&] { bench.copy_block(); }, nullptr));
}

Result<double> pack_rate(CalibrationBench& bench, PackLoop& loop) {
  if (const auto met = bench.meet("pack and copy"); !met.ok()) {
    return met.refusal();
  }
  return slowest_rate(bench, "pack and copy", loop.run_ms(kOperations));
}

const CalibrationFigure* MachineCalibration::find(std::string_view name) const {
  const auto at =
      std::find_if(figures.begin(), figures.end(),
                   [&](const CalibrationFigure& figure) { return figure.name == name; });
  return at == figures.end() ? nullptr : &*at;
}

}  // namespace dlo::engine
