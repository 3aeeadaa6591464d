// The loading step of a worker: preflight, plan or ordinary loading, and tensors that the workers
// of a throughput run share.
#include <utility>

#include "config/factory_rules.h"
#include "engine/checkpoint_sources.h"
#include "engine/rank_measurements.h"
#include "engine/worker_state.h"
#include "host_weights/plan_consumer.h"
#include "host_weights/weight_loader.h"
#include "platform/cpu/thread_executor.h"

namespace dlo::engine {

using host_weights::WeightLoadRequest;

namespace {

std::vector<BackingFile> backing_files(const host_weights::MappedTensors& tensors) {
  std::vector<BackingFile> files;
  for (const auto& [path, info] : tensors.mapped_files()) {
    files.push_back({path.string(), info.device, info.inode});
  }
  return files;
}

}  // namespace

// What another worker loaded and this one can do with: mapped tensors where a plan is wanted, the
// private ones where none is, or where there is no plan to be had; a model that stays on the device
// takes what there is.
contracts::HostTensors* Worker::State::find_shared(const WeightLoadRequest& load) {
  auto& shared = *hooks.shared_tensors;
  if (!load.offload) {
    return shared.ordinary != nullptr ? shared.ordinary.get() : shared.mapped.get();
  }
  if (!load.map_checkpoint) {
    return shared.ordinary.get();
  }
  if (shared.mapped != nullptr || shared.ordinary == nullptr) {
    return shared.mapped.get();
  }
  const auto plan =
      host_weights::preflight_checkpoint(faults.files(), host_weights::preflight_request(load));
  if (plan.ok()) {
    return nullptr;
  }
  mapping_refused = plan.refusal();
  return shared.ordinary.get();
}

Status Worker::State::load_weights() {
  auto load = weight_load_request(table, model.components(), request.model.checkpoint, config,
                                  request.parallel);
  if (const auto* encoder = model.text_encoder()) {
    add_component(encoder->spec(), load);
  }
  report.baseline = process_memory(*environment.files);
  for (const auto* tensor : table.tensors()) {
    report.weight_bytes += tensor->span_bytes();
  }
  for (const auto* tensor : load.others) {
    report.weight_bytes += tensor->span_bytes();
  }
  if (hooks.shared_tensors != nullptr) {
    if (auto* shared = find_shared(load); shared != nullptr) {
      host_tensors = std::make_unique<LentTensors>(*shared);
      if (shared == hooks.shared_tensors->mapped.get()) {
        report.mapped_files = hooks.shared_tensors->mapped_files;
      }
      event("load: shared");
      return {};
    }
  }
  if (auto status = load_own_weights(load); !status.ok()) {
    return status;
  }
  if (hooks.shared_tensors != nullptr) {
    auto& shared = *hooks.shared_tensors;
    const bool mapped = host_tensors->backing() != contracts::Backing::kOrdinary;
    auto& place = mapped ? shared.mapped : shared.ordinary;
    place = std::move(host_tensors);
    if (mapped) {
      shared.mapped_files = report.mapped_files;
    }
    host_tensors = std::make_unique<LentTensors>(*place);
  }
  return {};
}

Status Worker::State::load_own_weights(const WeightLoadRequest& load) {
  platform::ThreadExecutor threads(load.thread_count);
  auto executor = faults.executor(threads);
  auto loaded = host_weights::load_weights(faults.files(), *device, executor, load);
  if (!loaded.ok()) {
    return loaded.refusal();
  }
  const bool planned = loaded->plan.holds_plan();
  const auto factory = config::check_factory({.strategy = config.strategy,
                                              .has_plan = planned,
                                              .plan_replaces_weights = planned,
                                              .device_resolved = device != nullptr});
  if (factory.outcome == config::FactoryOutcome::kRefuse) {
    return factory.findings.front();
  }
  mapping_refused = loaded->fallback;
  host_tensors = std::move(loaded->tensors);
  if (planned) {
    auto mapped = host_weights::consume_plan(faults.files(), *device, loaded->plan.take(),
                                             {load.dits, nullptr, load.hooks}, loaded->events);
    if (!mapped.ok()) {
      return mapped.refusal();
    }
    report.mapped_files = backing_files(**mapped);
    other_tensors = std::move(host_tensors);
    host_tensors = std::move(mapped).value();
  }
  for (const auto& name : loaded->report.tolerated) {
    event("not in the checkpoint, tolerated: " + name);
  }
  for (auto& step : loaded->events) {
    event(std::move(step));
  }
  return {};
}

}  // namespace dlo::engine
