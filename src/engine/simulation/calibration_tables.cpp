// The published devices. Measured figures of the H200 come from one node of 1, 2 and 4 GPUs (NVLink
// all to all, one NUMA node, driver 580, NCCL 2.28); what nobody measured is marked, with how it
// was derived.
#include <array>
#include <utility>

#include "base/codes.h"
#include "base/nearest_name.h"
#include "engine/simulation/calibration.h"

namespace dlo::engine {

namespace {

constexpr std::array<std::string_view, 3> kNames = {"h200", "b300", "l20x"};

constexpr const char* kNode = "own measurement, H200 node";
constexpr const char* kForwards = "own measurement, Wan forwards on 2 H200s";

Figure measured(double value, std::string source) {
  return {value, std::move(source), Evidence::kMeasured};
}

Figure extrapolated(double value, std::string how) {
  return {value, std::move(how), Evidence::kExtrapolated};
}

std::string of(const char* series, const char* detail) {
  return std::string(series) + ": " + detail;
}

HostCalibration h200_host() {
  return {
      .event_ns = measured(140, of(kNode, "event record and wait, 0.28 us a pair")),
      .copy_ns = measured(4'000, of(kNode, "one copy of 88 MiB takes 4 us of host time")),
      .gather_ns = extrapolated(9'000,
                                "two copies' worth and an enqueue; the reference's Python needs "
                                "15 to 43 us a launch (vllm-omni #6374)"),
      .block_ns = extrapolated(300'000,
                               "60 kernels of 5 us; the peers' Python needs 1.3 ms a block (Wan "
                               "1.3B resident, 1,280 tokens)"),
  };
}

Calibration h200() {
  Calibration h200;
  h200.name = "h200";
  h200.source = "H200 SXM, PCIe 5.0 x16, NVLink 4: measured on 1, 2 and 4 GPUs of one node";
  h200.h2d.latency_ns =
      measured(2'900, of(kNode, "4 MiB pieces at 53.4, 1 MiB at 48 GB/s against 55.4"));
  h200.h2d.bytes_per_s = {
      {1, measured(55.4e9, of(kNode, "1 GiB, pinned; published 55.43 (nvbandwidth, 8x H200)"))},
      {2, measured(54.83e9, of(kForwards, "1 GiB, pinned, both GPUs at once"))},
      {4, measured(46.6e9, of(kNode, "1 GiB, pinned, four GPUs at once"))},
      {8, extrapolated(46.6e9,
                       "as with four GPUs at once; eight links one by one reach 55.43 "
                       "(nvbandwidth), together nobody published")},
  };
  h200.gather.latency_ns =
      measured(70'000, of(kForwards, "line through 702.8 MB in 1.394 and 92.9 MB in 0.245 ms"));
  h200.gather.bytes_per_s = {
      {2, measured(530.8e9, of(kForwards, "the same line"))},
      {4, measured(440e9, of(kNode, "1 GiB in 2.51 ms, less the latency"))},
      {8, measured(413e9, "ml-engineering: all-gather bus bandwidth 361.4 GB/s on 8 H200s, x 8/7")},
  };
  h200.compute.flops_per_s =
      measured(525e12, of(kForwards, "14B block of 41.9 TFLOP in 79.8 ms, 32,760 tokens"));
  h200.compute.lost_beside_copy =
      measured(0.0, of(kForwards,
                       "rank-local costs a compute-bound 14B forward -0.2 to +0.1 %, nil within "
                       "noise (plain 8192^3 GEMMs: 0.09)"));
  h200.compute.lost_beside_gather =
      measured(0.83, of(kForwards,
                        "AllGather costs a compute-bound 14B block 1.15 ms in gathers of 1.39 ms "
                        "(plain GEMMs: 0.49)"));
  h200.host = h200_host();
  return h200;
}

// What is taken over from the H200 for want of a figure.
Calibration from_h200(std::string name, std::string source) {
  Calibration device = h200();
  const auto take_over = [](Figure& figure) {
    if (figure.evidence == Evidence::kMeasured) {
      figure.source = "as on H200: " + figure.source;
    }
    figure.evidence = Evidence::kExtrapolated;
  };
  device.name = std::move(name);
  device.source = std::move(source);
  device.h2d.bytes_per_s.clear();
  device.gather.bytes_per_s.clear();
  device.compute.flops_per_s.reset();
  for (Figure* figure :
       {&device.h2d.latency_ns, &device.gather.latency_ns, &device.compute.lost_beside_copy,
        &device.compute.lost_beside_gather, &device.host.event_ns, &device.host.copy_ns,
        &device.host.gather_ns, &device.host.block_ns}) {
    take_over(*figure);
  }
  return device;
}

Calibration b300() {
  Calibration b300 = from_h200("b300", "B300, NVLink 5: a block profile on 4 GPUs, published");
  constexpr const char* kProfile = "vllm-omni #5397, DP4 on 4 B300s";
  const Figure h2d = measured(40.3e9, of(kProfile, "shard of 0.24 GB in 5.96 ms"));
  const Figure gather =
      measured(822e9, of(kProfile, "block of 0.97 GB in 1.25 ms, less the latency"));
  b300.h2d.bytes_per_s = {
      {1, extrapolated(h2d.value, "as with four GPUs at once, which is a lower limit")},
      {2, extrapolated(h2d.value, "as with four GPUs at once, which is a lower limit")},
      {4, h2d},
  };
  b300.gather.bytes_per_s = {
      {2, extrapolated(gather.value, "as over four GPUs")},
      {4, gather},
  };
  return b300;
}

Calibration l20x() {
  Calibration l20x = from_h200("l20x", "L20X, 4 GPUs in one NVLink domain: one published H2D rate");
  l20x.h2d.bytes_per_s = {
      {1, measured(51.2e9, "vllm-omni #6591: 121.855 GiB in 2.553 s, registered, one GPU")},
      {2, extrapolated(50.7e9, "one GPU's rate x 54.83/55.4, as two H200s")},
      {4, extrapolated(43.1e9, "one GPU's rate x 46.6/55.4, as four H200s")},
  };
  l20x.gather.bytes_per_s = {
      {2, extrapolated(530.8e9, "as on H200; only NVLink byte counts were published")},
      {4, extrapolated(440e9, "as on H200; only NVLink byte counts were published")},
  };
  return l20x;
}

}  // namespace

std::span<const std::string_view> builtin_calibration_names() {
  return kNames;
}

Result<Calibration> builtin_calibration(std::string_view name) {
  if (name == "h200") {
    return h200();
  }
  if (name == "b300") {
    return b300();
  }
  if (name == "l20x") {
    return l20x();
  }
  return refuse(codes::kInvalidValue, "unknown device '" + std::string(name) + "'", "--device",
                suggest_name(name, kNames));
}

}  // namespace dlo::engine
