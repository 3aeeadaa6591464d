#include "host_weights/weight_loader.h"

#include <fmt/format.h>

#include <utility>

#include "host_weights/preflight.h"

namespace dlo::host_weights {

namespace {

using contracts::BlockSpec;

// A plan, or why there is none; without offload nobody asks.
void find_plan(const platform::FileSystem& files, const WeightLoadRequest& request,
               WeightLoadResult& result) {
  if (!request.offload) {
    return;
  }
  if (!request.map_checkpoint) {
    result.events.push_back("preflight: not asked");
    return;
  }
  auto plan = preflight_checkpoint(files, preflight_request(request));
  if (plan.ok()) {
    result.plan.put(std::move(plan).value());
    result.events.push_back("preflight: planned");
    return;
  }
  result.fallback = plan.refusal();
  result.events.push_back(
      fmt::format("preflight: {}: {}", plan.refusal().code, plan.refusal().what));
}

void add_block(const BlockSpec& block, LoadRequest& load) {
  for (const auto& tensor : block.tensors) {
    load.tensors.push_back(&tensor);
  }
}

LoadRequest ordinary_request(const WeightLoadRequest& request) {
  LoadRequest load;
  load.sources = request.sources;
  load.thread_count = request.thread_count;
  for (const auto* dit : request.dits) {
    for (const auto& block : dit->blocks) {
      add_block(block, load);
    }
    add_block(dit->non_block, load);
    load.recipes.insert(dit->loading.recipes.begin(), dit->loading.recipes.end());
  }
  load.tensors.insert(load.tensors.end(), request.others.begin(), request.others.end());
  return load;
}

Status run_step(const char* name, const LoadHooks::Step& step, EditableTensors& tensors,
                std::vector<std::string>& events) {
  events.emplace_back(name);
  return step ? step(tensors) : Status{};
}

}  // namespace

PreflightRequest preflight_request(const WeightLoadRequest& request) {
  PreflightRequest preflight;
  preflight.dits = request.dits;
  preflight.sources = request.sources;
  preflight.model_path = request.model_path;
  preflight.remap_key = request.remap_key;
  preflight.tensor_parallel_size = request.tensor_parallel_size;
  preflight.use_hsdp = request.use_hsdp;
  preflight.online_quantization = request.online_quantization;
  return preflight;
}

Status run_final_steps(const LoadHooks& hooks, bool callbacks, bool post_load,
                       EditableTensors& tensors, std::vector<std::string>& events) {
  Status status;
  if (callbacks) {
    status = run_step("callbacks", hooks.callbacks, tensors, events);
  }
  if (status.ok() && post_load) {
    status = run_step("post_load", hooks.post_load, tensors, events);
  }
  if (status.ok()) {
    status = run_step("validate", hooks.validate, tensors, events);
  }
  if (status.ok()) {
    status = run_step("calibrate", hooks.calibrate, tensors, events);
  }
  if (!status.ok()) {
    return status;
  }
  events.emplace_back("eval");
  if (hooks.eval) {
    hooks.eval();
  }
  return {};
}

Result<WeightLoadResult> load_weights(const platform::FileSystem& files, platform::Device& device,
                                      platform::Executor& executor,
                                      const WeightLoadRequest& request) {
  WeightLoadResult result;
  find_plan(files, request, result);
  LoadRequest load = ordinary_request(request);
  if (result.plan.holds_plan()) {
    const auto& plan = result.plan.peek();
    load.planned_source_prefixes = plan.planned_source_prefixes();
    for (const auto& [name, binding] : plan.bindings()) {
      load.planned.insert(name);
    }
  }
  auto loaded = load_ordinary(files, device, executor, load);
  if (!loaded) {
    return loaded.refusal();
  }
  result.tensors = std::move(loaded->tensors);
  result.report = std::move(loaded->report);
  result.events.emplace_back("load");
  if (!result.plan.holds_plan()) {
    if (const auto status = run_final_steps(request.hooks, /*callbacks=*/true, /*post_load=*/true,
                                            *result.tensors, result.events);
        !status) {
      return status.refusal();
    }
  }
  return result;
}

}  // namespace dlo::host_weights
