#include "harness/scenario_throughput.h"

#include <fmt/format.h>

#include "base/codes.h"
#include "harness/scenario_options.h"
#include "harness/scenario_paths.h"

namespace dlo::harness {
namespace {

using engine::ArmSpec;
using engine::ThroughputSpec;

Result<ArmSpec> read_arm(const Json& row, const Json& document, const std::string& where) {
  Json object = row;
  Json options = document.value("options", Json::object());
  options.update(row.value("options", Json::object()));
  object["options"] = options;
  if (document.contains("backing") && !object.contains("backing")) {
    object["backing"] = document.at("backing");
  }
  Result<config::OffloadOptions> read = read_options(object, where);
  if (!read) {
    Refusal refusal = read.refusal();
    refusal.what = fmt::format("arm {}: {}", row.at("name").get<std::string>(), refusal.what);
    return refusal;
  }
  return ArmSpec{.name = row.at("name").get<std::string>(), .options = *std::move(read)};
}

Status check_arms(const ThroughputSpec& spec, const std::string& where) {
  for (std::size_t i = 0; i < spec.arms.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (spec.arms[i].name == spec.arms[j].name) {
        return refuse(codes::kInvalidValue,
                      fmt::format("two arms are called {}", spec.arms[i].name), where,
                      "give every arm a name of its own");
      }
    }
  }
  if (spec.arms.empty()) {
    return refuse(codes::kInvalidValue, "measure_forwards: no arm is left for this instance", where,
                  "give at least one arm without `when`");
  }
  return {};
}

}  // namespace

Result<std::optional<ThroughputSpec>> read_throughput(const Json& document,
                                                      const std::string& where) {
  if (!document.contains("measure_forwards")) {
    return std::optional<ThroughputSpec>{};
  }
  for (const char* other : {"transfer", "compare_with", "faults"}) {
    if (document.contains(other)) {
      return refuse(codes::kInvalidValue, fmt::format("measure_forwards beside {}", other), where,
                    "arms have a transfer each and are compared with the first one; leave it out");
    }
  }
  const Json& object = document.at("measure_forwards");
  ThroughputSpec spec;
  spec.rounds = object.value("rounds", spec.rounds);
  spec.forwards = object.value("forwards", spec.forwards);
  spec.warmups = object.value("warmups", spec.warmups);
  spec.traced_forwards = object.value("traced_forwards", spec.traced_forwards);
  spec.check_every_forward = object.value("check_every_forward", spec.check_every_forward);
  spec.calibrate = object.value("calibrate", spec.calibrate);
  spec.gemm_size = object.value("gemm_size", spec.gemm_size);
  spec.timestep = object.value("timestep", spec.timestep);
  for (const Json& row : object.at("arms")) {
    Result<bool> holds = condition_holds(row.value("when", Json::object()), document);
    if (!holds) {
      return holds.refusal();
    }
    if (!*holds) {
      continue;
    }
    Result<ArmSpec> arm = read_arm(row, document, where);
    if (!arm) {
      return arm.refusal();
    }
    spec.arms.push_back(*std::move(arm));
  }
  if (Status status = check_arms(spec, where); !status) {
    return status.refusal();
  }
  return std::optional(std::move(spec));
}

}  // namespace dlo::harness
