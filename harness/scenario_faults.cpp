#include "harness/scenario_faults.h"

#include "base/codes.h"

namespace dlo::harness {
namespace {

using platform::CrashFault;
using platform::CrashKind;

Result<CrashFault> read_crash(const Json& json, CrashKind kind) {
  Result<platform::CrashPlace> place =
      platform::crash_place_from_name(json.at("where").get<std::string>());
  if (!place) {
    return place.refusal();
  }
  return CrashFault{.rank = json.at("rank").get<int>(),
                    .kind = kind,
                    .place = *place,
                    .nth = json.value("nth", std::uint64_t{1})};
}

Status read_crashes(const Json& faults, engine::PlatformSpec& spec) {
  const bool dies = faults.contains("rank_dies");
  const bool stops = faults.contains("rank_stops");
  if (dies && stops) {
    return refuse(codes::kInvalidValue, "rank_dies and rank_stops both", "faults",
                  "leave one of the two out");
  }
  if (!dies && !stops) {
    return {};
  }
  Result<CrashFault> crash = read_crash(faults.at(dies ? "rank_dies" : "rank_stops"),
                                        dies ? CrashKind::kDies : CrashKind::kStops);
  if (!crash) {
    return crash.refusal();
  }
  spec.crash = *crash;
  return {};
}

void read_rank(const Json& faults, const char* name, std::optional<int>& rank) {
  if (faults.contains(name)) {
    rank = faults.at(name).get<int>();
  }
}

}  // namespace

Status read_faults(const Json& faults, engine::PlatformSpec& spec) {
  spec.slow_copy_ns = faults.value("slow_copy_ns", spec.slow_copy_ns);
  spec.slow_file_ns = faults.value("slow_file_ns", spec.slow_file_ns);
  spec.slow_gather_ns = faults.value("slow_gather_ns", spec.slow_gather_ns);
  read_rank(faults, "slow_copy_on_rank", spec.slow_copy_on_rank);
  read_rank(faults, "slow_gather_on_rank", spec.slow_gather_on_rank);
  read_rank(faults, "pin_fails_on_rank", spec.pin_fails_on_rank);
  read_rank(faults, "schedule_differs_on_rank", spec.schedule_differs_on_rank);
  if (faults.contains("plan")) {
    Result<platform::FaultPlan> plan =
        platform::fault_plan_from_json(nlohmann::json(faults.at("plan")));
    if (!plan) {
      return plan.refusal();
    }
    spec.faults = *std::move(plan);
  }
  return read_crashes(faults, spec);
}

bool has_faults(const engine::PlatformSpec& spec) {
  return spec.slow_copy_ns > 0 || spec.slow_gather_ns > 0 || spec.slow_file_ns > 0 ||
         spec.pin_fails_on_rank.has_value() || spec.schedule_differs_on_rank.has_value() ||
         !spec.faults.rules.empty() || spec.crash.has_value();
}

engine::PlatformSpec without_faults(engine::PlatformSpec spec) {
  spec.slow_copy_ns = 0;
  spec.slow_copy_on_rank.reset();
  spec.slow_gather_ns = 0;
  spec.slow_gather_on_rank.reset();
  spec.slow_file_ns = 0;
  spec.pin_fails_on_rank.reset();
  spec.schedule_differs_on_rank.reset();
  spec.faults = {};
  spec.crash.reset();
  return spec;
}

}  // namespace dlo::harness
