#include "harness/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/codes.h"
#include "config/option_rows.h"
#include "config/validate.h"
#include "harness/scenario_faults.h"

namespace dlo::harness {
namespace {

std::string ranks_text(std::int64_t count) {
  return fmt::format("{} rank{}", count, count == 1 ? "" : "s");
}

// Everything that output bytes may depend on: equal keys must give equal bytes.
std::string reference_key(const Scenario& scenario) {
  const ModelChoice& model = scenario.model;
  const engine::RequestSpec& requests = scenario.requests;
  std::string key = fmt::format(
      "{} {} {} {} {} {} ", model.folder.string(), dtype_name(model.dtype), model.keep_fp32_modules,
      dtype_name(model.compute_dtype), model.attention, model.fused_projections);
  if (model.generated.has_value()) {
    key += fmt::format("{} {} {} {} ", model.generated->preset, model.generated->seed,
                       model.generated->blocks.value_or(-1),
                       model.generated->stored_dtype.value_or("as it runs"));
  }
  key += fmt::format("{} {} {} {} {} {} {} {} ", requests.count, requests.steps,
                     requests.guidance_scale, requests.latent_frames, requests.latent_height,
                     requests.latent_width, requests.text_tokens, requests.seed);
  key += fmt::format("{} {} ", fmt::join(requests.prompt_tokens, ","), requests.prompt_token_count);
  key += scenario.platform.device + " ";
  return key + config::parallel_to_json(scenario.parallel).dump();
}

bool can_be_reference(const Scenario& scenario) {
  return scenario.options == config::OffloadOptions{} && !scenario.throughput.has_value() &&
         scenario.expected.outcome == engine::Outcome::kRuns &&
         !scenario.platform.device_budget_bytes.has_value() &&
         !scenario.platform.pinned_budget_bytes.has_value() && !has_faults(scenario.platform);
}

Scenario make_reference(const Scenario& scenario, std::size_t number) {
  Scenario reference;
  reference.name = fmt::format("reference_{}/dp{}", number, scenario.parallel.data_parallel_size);
  reference.file = scenario.file;
  reference.model = scenario.model;
  reference.parallel = scenario.parallel;
  reference.requests = scenario.requests;
  reference.platform.device = scenario.platform.device;
  reference.platform.share_devices = scenario.platform.share_devices;
  reference.platform.gather = scenario.platform.gather;
  reference.platform.wait_timeout_s = scenario.platform.wait_timeout_s;
  return reference;
}

// Lays out the steps; each reference stands before the first scenario that needs it.
class PlanBuilder {
 public:
  explicit PlanBuilder(const std::vector<Scenario>& fitting) {
    for (const Scenario& scenario : fitting) {
      if (can_be_reference(scenario)) {
        references_.emplace(reference_key(scenario), scenario);
      }
    }
  }

  void add(const Scenario& scenario) {
    if (placed_.contains(scenario.name)) {
      return;
    }
    std::optional<std::size_t> reference;
    if (scenario.compare_with_resident && !can_be_reference(scenario)) {
      reference = place_reference(scenario);
    }
    place(scenario, reference);
  }

  [[nodiscard]] std::vector<PlannedScenario> take() { return std::move(steps_); }

 private:
  std::size_t place(const Scenario& scenario, std::optional<std::size_t> reference) {
    placed_.emplace(scenario.name, steps_.size());
    steps_.push_back({scenario, reference});
    return steps_.size() - 1;
  }

  std::size_t place_reference(const Scenario& scenario) {
    const auto [found, is_new] = references_.try_emplace(reference_key(scenario), Scenario{});
    if (is_new) {
      found->second = make_reference(scenario, ++made_count_);
    }
    const auto at = placed_.find(found->second.name);
    return at != placed_.end() ? at->second : place(found->second, std::nullopt);
  }

  std::map<std::string, Scenario> references_;
  std::map<std::string, std::size_t> placed_;
  std::vector<PlannedScenario> steps_;
  std::size_t made_count_ = 0;
};

// Why the machine cannot hold the scenario; empty when it can. Every rank of the world has a device
// of its own, those that stay idle too: devices are dealt by a rank's place on its node.
std::string lacking(const Scenario& scenario, int world_size,
                    const AcceleratorCount& accelerators) {
  if (scenario.platform.device != "cuda") {
    return "";
  }
  if (!accelerators.in_build) {
    return "needs a GPU; this build has no CUDA";
  }
  const auto wanted = scenario.platform.share_devices ? 1 : static_cast<std::size_t>(world_size);
  return wanted <= accelerators.count
             ? ""
             : fmt::format("a world of {} needs {} GPU{}, the machine has {}",
                           ranks_text(world_size), wanted, wanted == 1 ? "" : "s",
                           accelerators.count);
}

SkippedScenario skip(const Scenario& scenario, std::string reason) {
  return {.name = scenario.name,
          .topology = topology_of(scenario.parallel),
          .reason = std::move(reason)};
}

Plan make_plan(const std::vector<Scenario>& fitting) {
  PlanBuilder builder(fitting);
  for (const Scenario& scenario : fitting) {
    builder.add(scenario);
  }
  return {.steps = builder.take(), .skipped = {}};
}

}  // namespace

AcceleratorCount count_accelerators(const engine::Accelerators& found) {
  return {.in_build = found.in_build, .count = found.devices.size()};
}

std::int64_t ranks_needed(const Scenario& scenario) {
  const bool refused = !config::validate(scenario.options, scenario.parallel).ok();
  return refused ? 1 : config::world_size(scenario.parallel);
}

Plan plan_sweep(const std::vector<Scenario>& scenarios, int world_size,
                const AcceleratorCount& accelerators) {
  std::vector<SkippedScenario> skipped;
  std::vector<Scenario> fitting;
  for (const Scenario& scenario : scenarios) {
    const std::int64_t needed = ranks_needed(scenario);
    if (scenario.ends_its_world()) {
      skipped.push_back(skip(scenario, "ends its world; a job of its own for dlo run or dlo gate"));
    } else if (scenario.own_job) {
      skipped.push_back(
          skip(scenario, "wants processes of its own; a job for dlo run --instance or dlo gate"));
    } else if (needed > world_size) {
      skipped.push_back(
          skip(scenario, fmt::format("needs {}, world has {}", ranks_text(needed), world_size)));
    } else if (std::string reason = lacking(scenario, world_size, accelerators); !reason.empty()) {
      skipped.push_back(skip(scenario, std::move(reason)));
    } else {
      fitting.push_back(scenario);
    }
  }
  Plan plan = make_plan(fitting);
  plan.skipped = std::move(skipped);
  return plan;
}

Result<Plan> plan_run(const std::vector<Scenario>& scenarios, int world_size,
                      const AcceleratorCount& accelerators) {
  std::int64_t largest = 0;
  std::vector<Scenario> fitting;
  std::vector<SkippedScenario> skipped;
  for (const Scenario& scenario : scenarios) {
    const std::int64_t needed = ranks_needed(scenario);
    if (needed > world_size) {
      return refuse(
          codes::kWorldTooSmall,
          fmt::format("{} ({}) needs {}, the world has {}", scenario.name,
                      topology_of(scenario.parallel).text(), ranks_text(needed), world_size),
          scenario.file.string(),
          fmt::format("start it with mpirun -np {}, or use dlo sweep, which skips what "
                      "does not fit",
                      needed));
    }
    largest = std::max(largest, needed);
    if (std::string reason = lacking(scenario, world_size, accelerators); !reason.empty()) {
      skipped.push_back(skip(scenario, std::move(reason)));
    } else {
      fitting.push_back(scenario);
    }
  }
  if (largest < world_size && !scenarios.empty()) {
    return refuse(codes::kTopologyMismatch,
                  fmt::format("the largest topology ({}) has {}, the world has {}",
                              topology_of(scenarios.front().parallel).text(), ranks_text(largest),
                              world_size),
                  scenarios.front().file.string(),
                  fmt::format("start it with mpirun -np {}, or use dlo sweep, which leaves surplus "
                              "ranks idle",
                              largest));
  }
  Plan plan = make_plan(fitting);
  plan.skipped = std::move(skipped);
  return plan;
}

}  // namespace dlo::harness
