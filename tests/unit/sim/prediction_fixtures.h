// Owns: what tests of predictions share: a calibration of round figures without latencies, losses
// and host costs, and requests of equal blocks.
// Must not own: expectations.
#pragma once

#include "base/bytes.h"
#include "engine/simulation/prediction.h"

namespace dlo::engine {

// One block of kPlainBlockBytes takes 8 ms by H2D and 2 ms by gather; its shard of W ranks 8/W ms.
inline constexpr std::uint64_t kPlainBlockBytes = 8'192'000;
inline constexpr Nanoseconds kPlainH2d = 8 * kMillisecond;
inline constexpr Nanoseconds kPlainGather = 2 * kMillisecond;

[[nodiscard]] inline Calibration plain_calibration() {
  const auto figure = [](double value) { return Figure{value, "test", Evidence::kMeasured}; };
  Calibration plain;
  plain.name = "plain";
  plain.source = "test";
  plain.h2d = {figure(0), {}};
  plain.gather = {figure(0), {}};
  for (const std::uint32_t ranks : {1U, 2U, 4U, 8U}) {
    plain.h2d.bytes_per_s[ranks] = figure(1.024e9);
    plain.gather.bytes_per_s[ranks] = figure(4.096e9);
  }
  plain.compute = {figure(1e12), figure(0), figure(0)};
  plain.host = {figure(0), figure(0), figure(0), figure(0)};
  return plain;
}

[[nodiscard]] inline PredictRequest plain_request(contracts::Transfer transfer, std::uint32_t ranks,
                                                  Nanoseconds compute_ns) {
  PredictRequest request;
  request.calibration = plain_calibration();
  request.ranks = ranks;
  request.transfer = transfer;
  request.blocks.assign(8, {kPlainBlockBytes, compute_ns});
  return request;
}

[[nodiscard]] inline PredictResult predicted(const PredictRequest& request) {
  return predict(request).value();
}

}  // namespace dlo::engine
