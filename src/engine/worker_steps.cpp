#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "base/thrown_refusal.h"
#include "engine/prompt_stage.h"
#include "engine/rank_measurements.h"
#include "engine/request_wave.h"
#include "engine/worker_state.h"
#include "platform/cpu/thread_executor.h"
#include "telemetry/timing_decorators.h"

namespace dlo::engine {

Status Worker::State::guarded(std::string_view operation, const std::function<Status()>& step) {
  Status status;
  try {
    if (torch != nullptr) {
      torch->activate();  // another worker of this thread may have been at work
    }
    status = step();
  } catch (...) {
    status = thrown_refusal(std::current_exception(), operation);
  }
  if (!status.ok()) {
    const auto& refusal = status.refusal();
    event(fmt::format("{} failed: {}", operation, refusal.code));
    report.code = refusal.code;
    report.message = refusal.message();
    context.failure_signal->raise(
        Failure{refusal.code, context.rank, -1, std::string(operation), refusal.what});
    // A stream that waits for a peer would hold every free of the way down.
    if (weight_communicator != nullptr) {
      weight_communicator->abort();
    }
  }
  return status;
}

Status Worker::State::make_device() {
  if (auto status = rank_platform->status(); !status.ok()) {
    return status;
  }
  auto made = rank_platform->make_device(*context.failure_signal);
  if (!made.ok()) {
    return made.refusal();
  }
  device = faults.decorate(std::move(made).value());
  if (environment.decorate_device) {
    device = environment.decorate_device(std::move(device));
  }
  device = std::make_unique<telemetry::LedgerDevice>(std::move(device), ledger);
  if (hooks.timing != nullptr) {
    device = std::make_unique<telemetry::TimingDevice>(std::move(device), *hooks.timing);
  }
  // Reductions split by thread count: one thread on every rank, so that runs can be compared.
  torch = std::make_unique<model::TorchSession>(*device, model::TorchSessionOptions{});
  event("device");
  if (hooks.timing != nullptr) {
    if (const auto counters = rank_platform->counters(); !counters.absent_reason.empty()) {
      event("counters absent: " + counters.absent_reason);
    }
  }
  return {};
}

Status Worker::State::make_model() {
  const auto text = request.requests.has_prompt() ? TextSource::kEncoder : TextSource::kSeeded;
  auto made = read_checkpoint_model(faults.files(), request.model, *device, text);
  if (!made.ok()) {
    return made.refusal();
  }
  model = std::move(made).value();
  for (const auto& note : model.pipeline().notes) {
    event(note);
  }
  if (request.model.attention == "fused") {
    event(fmt::format("attention kernel {}",
                      model::fused_attention_kernel(*device, request.model.compute_dtype)));
  }
  if (const auto* encoder = model.text_encoder()) {
    if (auto status = check_prompt(request.requests, encoder->geometry()); !status.ok()) {
      return status;
    }
  }
  table = model.table();
  forwards.assign(model.components().size(), 0);
  event("model");
  return {};
}

Status Worker::State::make_weight_group() {
  auto& world = faults.world();
  if (weight_group.axis == backend::GroupAxis::kNone) {
    world.watch_failures_of({context.rank});
    return {};
  }
  world.watch_failures_of(weight_group.ranks);
  auto control = world.make_control_group(weight_group.ranks, "weight control", deadline());
  if (!control.ok()) {
    return control.refusal();
  }
  weight_control = std::move(control).value();
  auto communicator = world.make_communicator(weight_group.ranks, "weights", deadline(), timeout);
  if (!communicator.ok()) {
    return communicator.refusal();
  }
  weight_communicator = std::make_unique<telemetry::LedgerCommunicator>(
      rank_platform->reach(std::move(communicator).value()), ledger);
  if (hooks.timing != nullptr) {
    weight_communicator = std::make_unique<telemetry::TimingCommunicator>(
        std::move(weight_communicator), *hooks.timing);
  }
  event("weight group");
  return {};
}

Status Worker::State::enable_backend() {
  if (host_tensors->backing() != contracts::Backing::kOrdinary) {
    pack_threads = std::make_unique<platform::ThreadExecutor>(config.pack_threads);
    pack_workers = std::make_unique<platform::FaultingExecutor>(faults.executor(*pack_threads));
  }
  backend = std::make_unique<backend::OffloadBackend>(
      backend::BackendRequest{.config = config,
                              .table = table,
                              .host_tensors = *host_tensors,
                              .device = *device,
                              .context = context,
                              .weight_control = weight_control.get(),
                              .weight_communicator = weight_communicator.get(),
                              .weight_axis = weight_group.axis,
                              .offload_plan = &model.pipeline().offload_plan,
                              .pack_workers = pack_workers.get(),
                              .timeout = timeout});
  const Status status = backend->enable();
  report.effective = backend->effective();
  for (const auto& lost : config.set_aside) {
    report.effective.downgrades.push_back({lost.code, lost.message()});
  }
  if (mapping_refused) {
    report.effective.downgrades.push_back({mapping_refused->code, mapping_refused->what});
  }
  for (const auto& step : backend->steps()) {
    event(step);
  }
  if (status.ok()) {
    model.set_observers([this](std::size_t ring) -> contracts::BlockObserver* {
      auto* observer = backend->observer(ring);
      // What is timed is the first ring.
      return ring == 0 && hooks.timing != nullptr && observer != nullptr
                 ? &timing_observer.emplace(*observer, *hooks.timing)
                 : observer;
    });
    event("enable");
  }
  return status;
}

Status Worker::State::make_pipeline() {
  measure_host_peaks(*device, report);
  auto made = LatentPipeline::make(*device, model.pipeline(), request.requests);
  if (!made.ok()) {
    return made.refusal();
  }
  pipeline = std::move(made).value();
  // One imposed limit for both allocators: torch gets what the platform leaves while a stage runs.
  if (const auto budget = request.platform.device_budget_bytes) {
    // Leading blocks and a component that comes and goes are never there together.
    const auto taken = device->device_memory().now_bytes +
                       std::max(backend->memory_plan().stage_resident_bytes, on_demand_bytes());
    torch->limit_memory(*budget - std::min(*budget, taken));
  }
  event("pipeline");
  return {};
}

Status Worker::State::serve_requests() {
  // Without a weight group replicas do not wait for each other, so nobody recomputes.
  const auto schedule =
      weight_group.axis == backend::GroupAxis::kData ? Schedule::kWaves : Schedule::kIndependent;
  const bool primary = coordinates.sp == 0 && coordinates.tp == 0;
  for (const auto& assignment :
       assign_requests(request.requests.count, schedule, coordinates.dp, topology.dp)) {
    if (auto status = encode_prompt(assignment.request); !status.ok()) {
      return status;
    }
    const Nanoseconds begin = clock.now();
    if (auto status = backend->begin_request(); !status.ok()) {
      return status;
    }
    auto digest = pipeline->run(assignment.request, timeout);
    if (!digest.ok()) {
      return digest.refusal();
    }
    const auto count = count_forwards(pipeline->forwards_per_request());
    report.forward_ms.push_back(
        static_cast<double>(clock.now() - begin) /
        static_cast<double>(kMillisecond * static_cast<Nanoseconds>(count)));
    if (assignment.answers && primary) {
      report.outputs.push_back({assignment.request, *digest});
    }
    if (auto status = backend->end_request(); !status.ok()) {
      return status;
    }
  }
  event("requests");
  return {};
}

std::uint64_t Worker::State::count_forwards(const std::vector<std::uint64_t>& more) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < more.size(); ++i) {
    forwards[i] += more[i];
    sum += more[i];
  }
  report.traffic.forward_count += sum;
  return sum;
}

void Worker::State::release(std::string_view name, const std::function<void()>& action) noexcept {
  try {
    action();
    event(fmt::format("release {}", name));
  } catch (const std::exception& error) {
    event(fmt::format("release {} failed: {}", name, error.what()));
  }
}

}  // namespace dlo::engine
