// Owns: Calibration, the rates and latencies of one kind of machine, every figure with its source;
// its JSON form; the built-in tables of published devices.
// Must not own: how the figures become durations (calibrated_costs.h) or measuring them (harness).
// Pure values. Failure: unknown keys and names are refused with the nearest one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace dlo::engine {

enum class Evidence : std::uint8_t { kMeasured, kExtrapolated };

struct Figure {
  double value = 0.0;
  std::string source;  // where it was measured or published; extrapolated: from what, and how
  Evidence evidence = Evidence::kMeasured;

  friend bool operator==(const Figure&, const Figure&) = default;
};

// Latency and rates by number of ranks.
struct LinkCalibration {
  Figure latency_ns;
  std::map<std::uint32_t, Figure> bytes_per_s;

  friend bool operator==(const LinkCalibration&, const LinkCalibration&) = default;
};

struct ComputeCalibration {
  std::optional<Figure> flops_per_s;  // of a whole block; none: compute times must be given
  // Share of the time of a copy or gather by which the compute beside it takes longer. Together
  // below 1.
  Figure lost_beside_copy;
  Figure lost_beside_gather;

  friend bool operator==(const ComputeCalibration&, const ComputeCalibration&) = default;
};

// Time of the launching thread.
struct HostCalibration {
  Figure event_ns;   // a record or a wait
  Figure copy_ns;    // issuing a copy
  Figure gather_ns;  // issuing a gather
  Figure block_ns;   // launching the kernels of one block

  friend bool operator==(const HostCalibration&, const HostCalibration&) = default;
};

struct Calibration {
  std::string name;
  std::string source;      // machine, date, method
  LinkCalibration h2d;     // rate of one rank, by ranks that copy at once on the node
  LinkCalibration gather;  // gathered bytes (output) a second, by group size
  ComputeCalibration compute;
  HostCalibration host;

  // The rate for `ranks`; where there is none, that of the next larger number, marked extrapolated.
  // Codes: invalid_value beyond the largest.
  [[nodiscard]] Result<Figure> h2d_rate(std::uint32_t ranks) const;
  [[nodiscard]] Result<Figure> gather_rate(std::uint32_t group_size) const;

  friend bool operator==(const Calibration&, const Calibration&) = default;
};

// {"name", "source", "h2d": {"latency_ns", "bytes_per_s": {"1": F, ...}}, "gather": likewise,
// "compute": {"flops_per_s"?, "lost_beside_copy", "lost_beside_gather"}, "host": {"event_ns",
// "copy_ns", "gather_ns", "block_ns"}}. F is a number, whose source is then the calibration's, or
// {"value", "source", "extrapolated"}.
[[nodiscard]] nlohmann::json calibration_to_json(const Calibration& calibration);
// `where` names the file in errors. Codes: unknown_option with the nearest key, invalid_value.
[[nodiscard]] Result<Calibration> calibration_from_json(const nlohmann::json& json,
                                                        const std::string& where);

// "h200", "b300", "l20x".
[[nodiscard]] std::span<const std::string_view> builtin_calibration_names();
// Codes: invalid_value with the nearest name.
[[nodiscard]] Result<Calibration> builtin_calibration(std::string_view name);

}  // namespace dlo::engine
